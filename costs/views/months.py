"""A month as its pages fetch it."""

from __future__ import annotations

from django.http import HttpRequest

from costs.models import Period
from tenants import access


def fetch(request: HttpRequest, pk: int, to: str = "costs.see") -> Period:
    """Return a month for somebody of the platform; for all others there is none."""
    if not access.rights(request.user).platform:
        raise access.Hidden("period", pk)
    periods = Period.objects.select_related("book", "prices", "policy", "reviewed_by", "closed_by")
    return access.fetch(request.user, periods, to, pk=pk)
