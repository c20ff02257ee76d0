"""Tags and filters of every page: states, ages, numbers, names, steps, diffs, lists and forms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django import template
from django.forms import BoundField
from django.template.context import Context
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from portal.web.states import Look, look
from portal.web.wording import (
    DASH,
    MINUS,
    clock,
    decimal,
    duration,
    exact,
    freshness_class,
    gpus,
    moment,
    number,
    quantity,
    shown,
    signed,
    spell,
    visible,
)

register = template.Library()
for words in (clock, duration, gpus, moment, number, quantity, shown, signed):
    register.filter(words.__name__, words)

# --- icons and states -------------------------------------------------------------------------


@register.simple_tag
@lru_cache(maxsize=500)
def icon(name: str, label: str = "") -> SafeString:
    """A symbol of the sprite; silent for screen readers unless it has a label of its own."""
    if label:
        return format_html(
            '<svg class="ico" role="img" aria-label="{}"><use href="#i-{}"/></svg>', label, name
        )
    return format_html('<svg class="ico" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def badge(
    state: object, since: datetime | None = None, hint: str = "", word: str = ""
) -> SafeString:
    """Icon, word and since; a hint opens on hover and on focus and is read with the word."""
    name = str(getattr(state, "value", state) or "")
    face = _face(name, str(word), get_language(), hinted=bool(hint))
    ago = _since(since) if since else SafeString()
    tip = format_html('<span class="tip">{}</span>', hint) if hint else SafeString()
    return face + ago + tip + _END


_END = SafeString("</span>")


@lru_cache(maxsize=1000)
def _face(state: str, word: str, language: str | None, *, hinted: bool) -> SafeString:
    """Give how a badge begins: icon and word; a long list has few different ones."""
    tone, shape, own_word = look(state)
    return format_html(
        '<span class="badge {}"{}>{}<span>{}</span>',
        tone,
        SafeString(' tabindex="0"' if hinted else ""),
        icon(shape),
        capfirst(word or str(own_word)),
    )


def _since(when: datetime) -> SafeString:
    ago = conditional_escape(spell((timezone.now() - when).total_seconds()))
    return _time_of(when, when.utcoffset(), timezone.get_current_timezone_name()) + ago + _TIME_END


_TIME_END = SafeString("</time>")


@lru_cache(maxsize=10_000)
def _time_of(when: datetime, offset: timedelta | None, zone: str) -> SafeString:
    """Give how an age begins: equal times of several zones are written differently."""
    return format_html(
        '<time class="since" datetime="{}" title="{}" data-since>', when.isoformat(), exact(when)
    )


# --- addresses ----------------------------------------------------------------------------------


@register.simple_tag
def address(name: str, *parts: str) -> str:
    """The address of a page, as ``url`` gives it: of what is shown again and again worked out once."""
    return _address(get_script_prefix(), name, parts)


@lru_cache(maxsize=10_000)
def _address(prefix: str, name: str, parts: tuple[str, ...]) -> str:
    # The prefix is part of what is kept: it is that of the request.
    return reverse(name, args=parts)


# --- time ---------------------------------------------------------------------------------------


@register.simple_tag
def age(when: datetime | None, interval: float | timedelta | None = None) -> SafeString:
    """How old data is: amber past twice its interval, red past ten times, and what that means."""
    if when is None:
        return format_html('<span class="age none">{}</span>', _("never seen"))
    seconds = (timezone.now() - when).total_seconds()
    words = _("%(span)s ago") if seconds >= 0 else _("in %(span)s")
    stamp = format_html(
        '<time datetime="{}" title="{}" data-age>{}</time>',
        when.isoformat(),
        exact(when),
        words % {"span": spell(abs(seconds))},
    )
    period = interval.total_seconds() if isinstance(interval, timedelta) else float(interval or 0)
    if not period:
        return format_html('<span class="age">{}</span>', stamp)
    return format_html(
        '<span class="age {}" data-interval="{}">{}<span class="late"> · {}</span>'
        '<span class="old"> · {}</span></span>',
        freshness_class(seconds, period),
        f"{period:g}",
        stamp,
        _("late, expected every %(span)s") % {"span": spell(period)},
        _("too old to rely on, expected every %(span)s") % {"span": spell(period)},
    )


@register.simple_tag
def age_words() -> str:
    """The words that portal.js needs to keep ages counting in the page's language."""
    units = {"s": _("%(n)s s"), "m": _("%(n)s min"), "h": _("%(n)s h"), "d": _("%(n)s d")}
    words = {key: text % {"n": "#"} for key, text in units.items()}
    words["ago"] = _("%(span)s ago") % {"span": "#"}
    words["in"] = _("in %(span)s") % {"span": "#"}
    return json.dumps(words, ensure_ascii=False)


# --- names --------------------------------------------------------------------------------------


@register.simple_tag
def name(value: object, limit: int = 40) -> SafeString:
    """A cluster name in monospace; a long one keeps its head and tail, the full one in title."""
    return _name(visible(value), limit)


@lru_cache(maxsize=10_000)
def _name(full: str, limit: int) -> SafeString:
    if len(full) <= limit:
        return format_html('<code class="name">{}</code>', full)
    tail = limit // 3
    short = f"{full[: limit - tail - 1]}…{full[-tail:]}"
    return format_html('<code class="name" title="{}">{}</code>', full, short)


@register.simple_tag
def digest(value: object) -> SafeString:
    """The first twelve digits of a digest, the full one in title."""
    full = visible(value or "")
    if not full:
        return format_html("{}", DASH)
    short = full.rsplit(":", 1)[-1][:12]
    return format_html('<code class="name digest" title="{}">{}</code>', full, short)


@register.filter
def breakable(value: object) -> SafeString:
    """A long path that may wrap before its dots and brackets, and nowhere inside a word."""
    return mark_safe(  # noqa: S308 - escaped first, then only <wbr> is added
        re.sub(r"(?=[.\[/])", "<wbr>", conditional_escape(visible(value)))
    )


# --- figures, steps, time line, diff, impact ---------------------------------------------


@register.inclusion_tag("parts/figures.html")
def figures(asked: object, free: object, missing: object, unit: str = "") -> dict[str, Any]:
    """Asked, free and missing as three figures; the missing one stands out when it is not zero."""
    short = bool(decimal(missing))
    return {
        "unit": unit,
        "rows": [
            ("asked", _("Asked"), quantity(asked, unit), False),
            ("free", _("Free"), quantity(free, unit), False),
            ("missing", _("Missing"), quantity(missing, unit), short),
        ],
    }


@register.inclusion_tag("parts/steps.html")
def steps(rows: Iterable[Any]) -> dict[str, Any]:
    """Request, plan, decided, applied, in the cluster: with person and time under each."""
    icons = {"done": "check", "now": "arrow", "failed": "cross", "todo": "ring"}
    return {"rows": [(row, icons.get(row.state, "ring")) for row in rows]}


#: A moment that is of no state.
DOT = Look("off", "dot", "")


@register.inclusion_tag("parts/timeline.html")
def timeline(moments: Iterable[Any]) -> dict[str, Any]:
    """What happened, in the given order, as dots on a line."""
    return {"rows": [(row, look(row.state) if row.state else DOT) for row in moments]}


KINDS = {
    "+": ("+", "add", "create", "created", "added"),
    "~": ("~", "change", "update", "changed", "updated", "replace"),
    "-": ("-", MINUS, "remove", "delete", "removed", "deleted"),
}


def _kind(value: object) -> str:
    text = str(getattr(value, "value", value)).lower()
    return next((kind for kind, words in KINDS.items() if text in words), "~")


@register.inclusion_tag("parts/diff.html")
def diff(changes: Iterable[Any]) -> dict[str, Any]:
    """Changed objects grouped by + ~ -, each with its fields; what is unchanged is not there."""
    groups: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in KINDS}
    for change in changes:
        objects = groups[_kind(change.kind)]
        entry = objects.setdefault(str(change.object), {"fields": [], "effect": "", "raw": ""})
        if change.path:
            entry["fields"].append(change)
        elif getattr(change, "effect", ""):
            entry["effect"] = change.effect
        entry["raw"] = getattr(change, "raw", "") or entry["raw"]
    labels = {"+": _("Added"), "~": _("Changed"), "-": _("Removed")}
    tones = {"+": "add", "~": "edit", "-": "cut"}
    icons = {"+": "plus", "~": "tilde", "-": "minus"}
    return {
        "groups": [
            {
                "tone": tones[kind],
                "icon": icons[kind],
                "label": labels[kind],
                "objects": list(objects.items()),
            }
            for kind, objects in groups.items()
            if objects
        ]
    }


@register.inclusion_tag("parts/impact.html")
def impact(rows: Iterable[Any]) -> dict[str, Any]:
    """The consequences of a plan: counts first, lists folded."""
    return {"rows": list(rows)}


# --- lists --------------------------------------------------------------------------------------


@register.inclusion_tag("parts/empty.html")
def empty(
    title: str, text: str = "", action_url: str = "", action_label: str = ""
) -> dict[str, Any]:
    """What this place will show, why it is empty, and the one next step."""
    return {"title": title, "text": text, "action_url": action_url, "action_label": action_label}


def _with_query(context: Context, drop: Iterable[str] = (), **changes: str) -> str:
    request = context.get("request")
    query = request.GET.copy() if request else None
    if query is None:
        from django.http import QueryDict

        query = QueryDict(mutable=True)
    for key in drop:
        query.pop(key, None)
    for key, value in changes.items():
        query[key] = value
    return f"?{query.urlencode()}"


@register.simple_tag(takes_context=True)
def sort_th(context: Context, key: str, label: str, css: str = "", param: str = "sort") -> Any:
    """A column head that sorts by link and says its order to screen readers."""
    request = context.get("request")
    current = request.GET.get(param, "") if request else ""
    up, down = current == key, current == f"-{key}"
    order = "ascending" if up else "descending" if down else ""
    return format_html(
        '<th scope="col" class="{}"{}><a href="{}">{}{}</a></th>',
        css,
        format_html(' aria-sort="{}"', order) if order else "",
        _with_query(context, ("after", "before", "page"), **{param: f"-{key}" if up else key}),
        label,
        icon("sort-up" if up else "sort-down") if order else "",
    )


@register.inclusion_tag("parts/pager.html", takes_context=True)
def pager(context: Context, page: Any, name: str = "") -> dict[str, Any]:
    """Earlier and later rows by key; `page` has before, after (keys or empty) and shown, total.

    `name` is that of a list that shares its page with others, see `keyset`.
    """
    before, after = getattr(page, "before", ""), getattr(page, "after", "")
    keys = (f"{name}before", f"{name}after", "page")

    def to(side: str, key: object) -> str:
        return _with_query(context, keys, **{f"{name}{side}": str(key)}) if key else ""

    return {"page": page, "before_url": to("before", before), "after_url": to("after", after)}


# --- forms --------------------------------------------------------------------------------------


@register.inclusion_tag("forms/field.html")
def field(bound: BoundField, today: object = "", unit: str = "") -> dict[str, Any]:
    """A form field with its label, help, error, and today's value beside the input."""
    return {"field": bound, "errors": bound.errors, "today": today, "unit": unit}
