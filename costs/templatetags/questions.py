"""Questions about idle devices that wait for an answer of a tenant, on pages of other parts."""

from __future__ import annotations

from typing import Any

from django import template

from costs.selectors import cases
from costs.sentences import about, title
from tenants.models import Tenant

register = template.Library()
#: Questions that are named; the others are counted.
NAMED = 3


@register.inclusion_tag("costs/_questions.html")
def questions(tenant: Tenant) -> dict[str, Any]:
    """Name the questions of a tenant, which came with its row, with their links."""
    found = cases.questions(tenant)
    named = [(each, title(each), about(each, names=False)) for each in found[:NAMED]]
    return {"tenant": tenant, "number": len(found), "named": named, "more": len(found) > NAMED}
