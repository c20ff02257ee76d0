"""Tags for the catalog and the audit trail."""

from __future__ import annotations

import json
from typing import Any

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from portal.web.wording import visible
from tenants.audit import ACTIONS
from tenants.forms.catalog import DEVICE_KINDS, PURCHASES
from tenants.forms.queues import (
    BORROW,
    PURPOSES,
    RECLAIM,
    SEARCH,
    STOP_POLICIES,
    STRATEGIES,
    WITHIN,
)
from tenants.models import AuditEvent

register = template.Library()

# Kinds of objects that have a page, and its URL name.
PAGES = {
    "request": "request",
    "plan": "plan",
    "apply": "apply",
    "tenant": "tenant",
    "cluster": "catalog-cluster",
}


# What Kueue calls it -> what we call it, the same words as in the forms.
WORDS = {
    **{
        str(each.value): word
        for part in (PURPOSES, STRATEGIES, STOP_POLICIES)
        for each, word in part.items()
    },
    **{str(each.value): word for part in (DEVICE_KINDS, PURCHASES) for each, word in part.items()},
    **dict((*WITHIN, *RECLAIM, *BORROW, *SEARCH)),
}


@register.filter
def in_words(value: object) -> str:
    """Say a policy in words; one that has none shows its name."""
    return str(WORDS.get(str(getattr(value, "value", value)), value))


@register.simple_tag
def action_words(action: str) -> str:
    """Say an action in words; an old one that has no words any more shows its name."""
    return str(ACTIONS.get(action, action))


@register.simple_tag
def object_link(event: AuditEvent) -> SafeString:
    """Link to the object of an event where it has a page."""
    shown = event.object_id if len(event.object_id) <= 24 else f"{event.object_id[:8]}…"
    try:
        url = reverse(PAGES[event.object_type], args=[event.object_id])
    except (KeyError, NoReverseMatch):
        return format_html("{}", shown)
    return format_html('<a href="{}">{}</a>', url, shown)


@register.simple_tag
def event_data(data: dict[str, Any]) -> SafeString:
    """Show the facts of an event as a list; nothing in it is ever markup."""
    rows = ((key, visible(_shown(value))) for key, value in sorted(data.items()))
    items = format_html_join("", "<dt>{}</dt><dd>{}</dd>", rows)
    return format_html('<dl class="facts">{}</dl>', items)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
