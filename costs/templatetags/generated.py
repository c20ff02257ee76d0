"""The mark of figures that were made up for a demo; wherever they are stored, pages have it."""

from __future__ import annotations

from typing import Any

from django import template

from costs.models import GeneratedTime

register = template.Library()


@register.inclusion_tag("costs/_generated.html")
def generated_mark() -> dict[str, Any]:
    """Say up to when figures were generated, and whether they still are; one query."""
    rows = GeneratedTime.objects.select_related("cluster").order_by("cluster__slug")
    return {"generated": list(rows)}
