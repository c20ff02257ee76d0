"""What an object belongs to, whatever it is: a request, a tenant."""

from __future__ import annotations

from typing import Any

from tenants.models import Request, Tenant


def tenant_id_of(obj: Any) -> int | None:
    """Return the tenant that an object belongs to; objects of a request belong to its tenant."""
    if isinstance(obj, Tenant):
        return int(obj.pk)
    if hasattr(obj, "tenant_id"):
        found: int | None = obj.tenant_id
        return found
    request = request_of(obj)
    return request.tenant_id if request is not None else None


def request_of(obj: Any) -> Request | None:
    """Return the request that an object is, or belongs to."""
    if isinstance(obj, Request):
        return obj
    found = getattr(obj, "request", None)
    return found if isinstance(found, Request) else None
