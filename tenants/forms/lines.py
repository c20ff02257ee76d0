"""Fields that hold a list as text, one item on a line: labels, taints, tolerations, entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from kube import names
from kube.catalog import EntrySpec, Taint, Toleration
from kube.problems import Refused, shown
from tenants.forms.fields import StrictField, refusal

MOST_LINES = 64
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TAINT = re.compile(r"([^=:\s]+)(?:=([^:\s]*))?:([A-Za-z]+)", re.ASCII)
_TOLERATION = re.compile(
    r"(?P<key>[^=:\s]*)(?:=(?P<value>[^:\s]*))?(?::(?P<effect>[A-Za-z]+))?(?: (?P<seconds>[0-9]{1,9})s)?",
    re.ASCII,
)


class LinesField(StrictField):
    """A text of lines, each read by ``item``; written back by ``show``."""

    def __init__(
        self, *, item: Callable[[str], Any], show: Callable[[Any], str], **kwargs: Any
    ) -> None:
        rows = kwargs.pop("rows", 3)
        kwargs.setdefault("required", False)
        attrs = {"rows": rows, "spellcheck": "false", "class": "mono"}
        super().__init__(widget=forms.Textarea(attrs=attrs), **kwargs)
        self.item = item
        self.show = show

    def nothing(self) -> Any:
        """No lines are no items."""
        return ()

    def understand(self, text: str) -> Any:
        """Read every line and collect what is wrong, with its number."""
        lines = text.replace("\r\n", "\n").split("\n")
        filled = [(at, line.strip(" \t")) for at, line in enumerate(lines, 1) if line.strip(" \t")]
        if len(filled) > MOST_LINES:
            raise refusal(Refused(code="GP-2183", limit=MOST_LINES, count=len(filled)))
        found, faults = [], []
        for at, line in filled:
            try:
                found.append(self.item(line))
            except Refused as error:
                faults.append(ValidationError(_("Line %(n)d: %(what)s") % _said(at, error)))
        if faults:
            raise ValidationError(faults)
        return tuple(found)

    def prepare_value(self, value: Any) -> Any:
        """Show items as lines; what was sent wrongly is shown as it came."""
        if value is None or isinstance(value, str):
            return value
        return "\n".join(self.show(item) for item in value)


def _said(at: int, error: Refused) -> dict[str, object]:
    return {"n": at, "what": refusal(error).messages[0]}


def read_label(line: str) -> tuple[str, str]:
    """Read ``key=value``."""
    key, _equal, value = line.partition("=")
    return names.label_key(key.strip(" ")), names.label_value(value.strip(" "))


def show_label(pair: tuple[str, str]) -> str:
    """Write ``key=value``."""
    return "=".join(pair)


def read_taint(line: str) -> Taint:
    """Read ``key=value:Effect``."""
    match = _TAINT.fullmatch(line)
    if match is None or match[3] not in EFFECTS:
        raise Refused(code="GP-2106", value=shown(line), allowed=f"key=value:{'|'.join(EFFECTS)}")
    key, value = names.label_key(match[1]), names.label_value(match[2] or "")
    return Taint(key=key, value=value, effect=match[3])  # type: ignore[arg-type]


def show_taint(taint: Taint) -> str:
    """Write ``key=value:Effect``."""
    return f"{taint.key}={taint.value}:{taint.effect}"


def read_toleration(line: str) -> Toleration:
    """Read ``key=value:Effect``, ``key:Effect`` for any value, and `` 300s`` behind it."""
    match = _TOLERATION.fullmatch(line)
    effect = match["effect"] or "" if match else "?"
    if match is None or effect not in ("", *EFFECTS):
        allowed = "key=value:Effect, key:Effect, key:NoExecute 300s"
        raise Refused(code="GP-2106", value=shown(line), allowed=allowed)
    key, value, seconds = match["key"], match["value"], match["seconds"]
    return Toleration(
        key=names.label_key(key) if key else "",
        operator="Exists" if value is None else "Equal",
        value=names.label_value(value or ""),
        effect=effect,  # type: ignore[arg-type]
        toleration_seconds=int(seconds) if seconds else None,
    )


def show_toleration(each: Toleration) -> str:
    """Write a toleration as it is read."""
    value = f"={each.value}" if each.operator == "Equal" else ""
    effect = f":{each.effect}" if each.effect else ""
    seconds = f" {each.toleration_seconds}s" if each.toleration_seconds is not None else ""
    return f"{each.key}{value}{effect}{seconds}"


def read_entry(line: str) -> EntrySpec:
    """Read ``namespace/name``."""
    namespace, _slash, name = line.partition("/")
    return EntrySpec(namespace=names.namespace(namespace), name=names.label(name))


def show_entry(entry: EntrySpec) -> str:
    """Write ``namespace/name``."""
    return f"{entry.namespace}/{entry.name}"


def choices_of(values: Iterable[str], nothing: str = "") -> list[tuple[str, str]]:
    """Return names as choices, with an empty one first where that is allowed."""
    named = [(value, value) for value in values]
    return [("", nothing), *named] if nothing else named
