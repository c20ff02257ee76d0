"""Rights read once for a page; refused attempts kept, also those that no service has seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import structlog
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject
from django_structlog.middlewares import RequestMiddleware

from portal.web.errors import DomainError
from tenants import access, audit
from tenants.addresses import client_address
from tenants.belonging import tenant_id_of
from tenants.models import Tenant, User

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class PersonMiddleware(AuthenticationMiddleware):
    """Say who asks without a query of its own: the session was read with its person."""

    def process_request(self, request: HttpRequest) -> None:
        """Set ``request.user``, which is found out when somebody looks at it."""
        super().process_request(request)
        # As Django's own middleware does; its types know neither the lazy person nor the cache.
        request.user = SimpleLazyObject(lambda: _person(request))  # type: ignore[assignment]


def _person(request: HttpRequest) -> Any:
    if not hasattr(request, "_cached_user"):
        request._cached_user = _proven(request.session) or get_user(request)  # type: ignore[attr-defined]
    return request._cached_user  # type: ignore[attr-defined]


def _proven(session: Any) -> User | None:
    """Give the person of a session if all holds that Django asks; else Django itself decides."""
    user_id, backend = session.get(SESSION_KEY), session.get(BACKEND_SESSION_KEY)
    person: User | None = session.person
    if person is None or str(person.pk) != user_id or not person.is_active:
        return None
    if backend not in settings.AUTHENTICATION_BACKENDS:
        return None
    proof = session.get(HASH_SESSION_KEY, "")
    return person if constant_time_compare(proof, person.get_session_auth_hash()) else None


class LogMiddleware(RequestMiddleware):
    """Write requests to the log with the address that our own proxies tell, and no other."""

    @classmethod
    def bind_ip(cls, request: HttpRequest) -> None:
        """Add the address to every line of this request."""
        structlog.contextvars.bind_contextvars(ip=client_address(request))


class RightsMiddleware:
    """Let a page that is only looked at read the viewer's roles once.

    What changes something reads them again each time: a role taken away a moment ago counts.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Remember roles for the length of one safe request."""
        if request.method not in SAFE:
            return self.get_response(request)
        with access.one_reading():
            return self.get_response(request)


class RefusalMiddleware:
    """Record what a signed-in person tried to change and may not, a 404 for others' things too.

    Reading is not recorded: a GET leaves nothing behind. It stands innermost, so that it sees
    the exception before another middleware turns it into an answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Nothing to do on the way."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        """Keep a refusal; the answer is made by others."""
        refused = isinstance(exception, access.Hidden | PermissionDenied | DomainError)
        if request.method in SAFE or not refused or not audit.worth_keeping(exception):
            return
        if not isinstance(request.user, User):
            return
        obj = getattr(exception, "obj", None)
        audit.record_refusal(
            "access.refused",
            actor=request.user,
            scope=scope_of(obj),
            obj=obj if isinstance(obj, Model) else None,
            error=exception,
            data=facts_of(request, exception),
        )
        audit.mark_kept(exception)


def scope_of(obj: Any) -> str:
    """Return the chain of the tenant that the object belongs to."""
    tenant_id = tenant_id_of(obj)
    tenant = Tenant.objects.filter(pk=tenant_id).first() if tenant_id else None
    return audit.scope_of(tenant)


def facts_of(request: HttpRequest, exception: Exception) -> dict[str, Any]:
    """Return what was tried: the page by its name, the right, the key of what is hidden."""
    match = request.resolver_match
    facts = {
        "page": match.url_name if match else "",
        "method": request.method,
        "right": getattr(exception, "action", ""),
        "hidden": getattr(exception, "kind", ""),
        "key": getattr(exception, "key", "")[:200],
    }
    return {name: value for name, value in facts.items() if value}
