"""Who may see what, and who may do what with it.

``visible_to`` decides what exists for a person: everything else is a 404, the same as for what
does not exist at all. ``can`` decides what may be done with what is visible: a no is a 403.
Rights come from membership rows at the time of the question, never from a cookie; only a page
that changes nothing reads them once. Who wrote the rows, a person or a directory, does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.db.models import IntegerField, Model, Q, QuerySet, Value
from django.http import Http404
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from portal.web.errors import NotAllowed
from tenants.belonging import request_of, tenant_id_of
from tenants.models import (
    AuditEvent,
    Cluster,
    Membership,
    PlatformRole,
    Queue,
    Request,
    Tenant,
    User,
)

Person = User | AnonymousUser
M = TypeVar("M", bound=Model)

USER: Final = str(Membership.Role.USER)
LEAD: Final = str(Membership.Role.LEAD)
FINANCE: Final = str(Membership.Role.FINANCE)
APPROVER: Final = str(PlatformRole.Role.APPROVER)
ADMIN: Final = str(PlatformRole.Role.ADMIN)
AUDITOR: Final = str(PlatformRole.Role.AUDITOR)

PLATFORM: Final = frozenset({APPROVER, ADMIN, AUDITOR})
MEMBERS: Final = frozenset({USER, LEAD, FINANCE})


# --- rights -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rights:
    """The roles that a person holds right now."""

    platform: frozenset[str] = frozenset()
    tenants: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Tell whether the person holds any role at all."""
        return bool(self.platform or self.tenants)

    def within(self, tenant_id: int | None) -> frozenset[str]:
        """Return the roles in one tenant."""
        return self.tenants.get(tenant_id, frozenset()) if tenant_id else frozenset()

    def tenant_ids(self, roles: frozenset[str] = MEMBERS) -> list[int]:
        """Return the tenants in which the person holds one of ``roles``."""
        return sorted(pk for pk, held in self.tenants.items() if held & roles)


_WITH_SESSION: Final = "_rights_with_session"
_KNOWN: ContextVar[dict[int, Rights] | None] = ContextVar("known_rights", default=None)


@contextmanager
def one_reading() -> Iterator[None]:
    """Read each person's roles once inside this block: for one page that is only looked at."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def rights(user: Person) -> Rights:
    """Read a person's roles, in one query."""
    if not user.is_authenticated or not user.is_active:
        return Rights()
    known = _KNOWN.get()
    if known is None:
        return rights_of([user.pk])[user.pk]
    if user.pk not in known:
        read: Rights | None = getattr(user, _WITH_SESSION, None)
        known[user.pk] = rights_of([user.pk])[user.pk] if read is None else read
    return known[user.pk]


def rights_of(user_ids: Collection[int]) -> dict[int, Rights]:
    """Read the roles of several active people, in one query."""
    own = Membership.objects.filter(user__in=user_ids).values_list("user_id", "role", "tenant_id")
    nowhere = Value(None, output_field=IntegerField(null=True))
    roles = PlatformRole.objects.filter(user__in=user_ids)
    platform = roles.values_list("user_id", "role", nowhere)
    found: dict[int, list[tuple[str, int | None]]] = {pk: [] for pk in user_ids}
    for user_id, role, tenant_id in own.union(platform, all=True):
        found[user_id].append((role, tenant_id))
    return {pk: _gathered(rows) for pk, rows in found.items()}


def _gathered(rows: Iterable[tuple[str, int | None]]) -> Rights:
    """Sort roles by tenant; those of no tenant are the platform's."""
    platform: set[str] = set()
    tenants: dict[int, set[str]] = {}
    for role, tenant_id in rows:
        held = platform if tenant_id is None else tenants.setdefault(tenant_id, set())
        held.add(role)
    return Rights(frozenset(platform), {pk: frozenset(names) for pk, names in tenants.items()})


def remember(user: User, rows: Iterable[tuple[str, int | None]]) -> None:
    """Keep the roles that were read together with a person, for one page that only looks."""
    setattr(user, _WITH_SESSION, _gathered(rows))


# --- what may be seen -----------------------------------------------------------------------------


def tenants(user: Person) -> QuerySet[Tenant]:
    """Return the tenants that exist for ``user``."""
    return _scoped(Tenant.objects.all(), rights(user), "pk")


def queues(user: Person) -> QuerySet[Queue]:
    """Return the queues of the tenants that ``user`` sees."""
    return _scoped(Queue.objects.all(), rights(user), "tenant")


def requests(user: Person) -> QuerySet[Request]:
    """Return the requests of the tenants that ``user`` sees; the platform sees its own too."""
    return _scoped(Request.objects.all(), rights(user), "tenant")


def clusters(user: Person) -> QuerySet[Cluster]:
    """Return every cluster to everybody with a role: totals are no secret, queues are."""
    return Cluster.objects.all() if rights(user) else Cluster.objects.none()


def people(user: Person) -> QuerySet[User]:
    """Return everybody to the platform, and nobody else's account to a member."""
    return User.objects.all() if rights(user).platform else User.objects.none()


def audit_events(user: Person) -> QuerySet[AuditEvent]:
    """Return all events to the platform, and a tenant's own to its leads."""
    held = rights(user)
    if held.platform:
        return AuditEvent.objects.all()
    led = Tenant.objects.filter(pk__in=held.tenant_ids(frozenset({LEAD})))
    scopes = [f"tenant:{slug}" for slug in led.values_list("slug", flat=True)]
    return AuditEvent.objects.filter(scope__in=scopes)


_VISIBLE: Final[Mapping[type[Model], Callable[[Person], QuerySet[Any]]]] = {
    Tenant: tenants,
    Queue: queues,
    Request: requests,
    Cluster: clusters,
    AuditEvent: audit_events,
    User: people,
}


def visible_to(user: Person, model: type[M]) -> QuerySet[M]:
    """Return the rows of ``model`` that exist for ``user``."""
    return _VISIBLE[model](user)


def _scoped(rows: QuerySet[M], held: Rights, path: str) -> QuerySet[M]:
    if held.platform:
        return rows
    return rows.filter(Q(**{f"{path}__in": held.tenant_ids()}))


# --- what may be done -----------------------------------------------------------------------------

Unless = Callable[[Person, Rights, Any], "Reason | None"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why somebody with the right role may still not."""

    code: str
    text: str | Promise


@dataclass(frozen=True, slots=True)
class Rule:
    """The roles that an action needs, and what forbids it all the same."""

    platform: frozenset[str] = frozenset()
    tenant: frozenset[str] = frozenset()
    author: bool = False
    anybody: bool = False
    unless: tuple[Unless, ...] = ()


OWN_REQUEST: Final = Reason(
    "GP-1121", _("Nobody decides on a request of their own. Ask another approver.")
)
OWN_TENANT: Final = Reason(
    "GP-1122", _("A lead of this tenant does not decide on its requests. Ask another approver.")
)
NO_ROLE: Final = Reason("GP-1003", _("You may see this, but your roles do not let you do it."))


def own_request(user: Person, _held: Rights, obj: Any) -> Reason | None:
    """Four eyes: compare the person, not the role, so that administrators are no exception."""
    request = request_of(obj)
    return OWN_REQUEST if request is not None and request.author_id == user.pk else None


def own_tenant(_user: Person, held: Rights, obj: Any) -> Reason | None:
    """An approver who also leads the tenant has an interest in the answer."""
    return OWN_TENANT if LEAD in held.within(tenant_id_of(obj)) else None


def _rule(*roles: str, author: bool = False, unless: tuple[Unless, ...] = ()) -> Rule:
    named = frozenset(roles)
    return Rule(named & PLATFORM, named & MEMBERS, author, unless=unless)


DECIDE: Final = _rule(APPROVER, ADMIN, unless=(own_request, own_tenant))

ACTIONS: Final[Mapping[str, Rule]] = {
    "tenant.see": _rule(*PLATFORM, *MEMBERS),
    "tenant.numbers": _rule(*PLATFORM, *MEMBERS),
    "tenant.jobs": _rule(*PLATFORM, USER, LEAD),
    "tenant.costs": _rule(*PLATFORM, LEAD, FINANCE),
    "tenant.budget": _rule(APPROVER, ADMIN, FINANCE),
    "tenant.people": _rule(*PLATFORM, USER, LEAD),
    "tenant.contacts": _rule(*PLATFORM, LEAD),
    "tenant.add_member": _rule(ADMIN, LEAD),
    "tenant.name_lead": _rule(ADMIN),
    "queue.see": _rule(*PLATFORM, *MEMBERS),
    "case.ask": _rule(APPROVER, ADMIN),
    "case.justify": _rule(USER, LEAD),
    "case.take_back": _rule(ADMIN, LEAD),
    "case.close": _rule(APPROVER, ADMIN),
    "request.see": _rule(*PLATFORM, *MEMBERS),
    "request.create": _rule(ADMIN, LEAD),
    "request.edit": _rule(ADMIN, LEAD, author=True),
    "request.withdraw": _rule(ADMIN, author=True),
    "request.plan_again": _rule(ADMIN, LEAD, author=True),
    "request.abandon": _rule(ADMIN, LEAD, author=True),
    "request.decide": DECIDE,
    "plan.see": _rule(*PLATFORM, LEAD),
    "plan.approve": DECIDE,
    "plan.reject": DECIDE,
    "plan.take_back": _rule(ADMIN, unless=(own_request, own_tenant)),
    "plan.keep_theirs": _rule(ADMIN),
    "apply.see": _rule(*PLATFORM, *MEMBERS),
    "apply.retry": _rule(ADMIN),
    "cluster.see": Rule(anybody=True),
    "cluster.details": _rule(*PLATFORM),
    "cluster.register": _rule(ADMIN),
    "cluster.write": _rule(ADMIN),
    "cluster.disconnect": _rule(ADMIN),
    "cluster.metrics": _rule(ADMIN),
    "catalog.see": Rule(anybody=True),
    "catalog.propose": _rule(ADMIN),
    "costs.see": _rule(*PLATFORM),
    "costs.work": _rule(APPROVER, ADMIN),
    "prices.work": _rule(APPROVER, ADMIN),
    "dispute.see": _rule(*PLATFORM, LEAD, FINANCE),
    "dispute.open": _rule(LEAD, FINANCE),
    "dispute.answer": _rule(APPROVER, ADMIN, unless=(own_tenant,)),
    "bills.see": _rule(*PLATFORM),
    "bills.take": _rule(ADMIN),
    "audit.see": _rule(*PLATFORM, LEAD),
    "audit.verify": _rule(ADMIN, AUDITOR),
    "people.see": _rule(*PLATFORM),
    "people.grant": _rule(ADMIN),
}


def can(user: Person, action: str, obj: Any = None) -> bool:
    """Answer whether ``user`` may do ``action`` with ``obj``, by the table above."""
    return reason_against(user, action, obj) is None


def reason_against(user: Person, action: str, obj: Any = None) -> Reason | None:
    """Return why ``user`` may not do ``action``, or nothing.

    Without an object a role in any tenant counts: it answers "is there a place where...".
    """
    rule = ACTIONS[action]
    held = rights(user)
    if not _has_role(rule, user, held, obj):
        return NO_ROLE
    found = (unless(user, held, obj) for unless in rule.unless)
    return next((reason for reason in found if reason), None)


def _has_role(rule: Rule, user: Person, held: Rights, obj: Any) -> bool:
    if not held:
        return False
    if rule.anybody or rule.platform & held.platform:
        return True
    tenant_id = tenant_id_of(obj)
    if obj is None:
        return bool(held.tenant_ids(rule.tenant))
    if tenant_id is not None and rule.tenant & held.within(tenant_id):
        return True
    request = request_of(obj)
    mine = request is not None and request.author_id == user.pk
    # An author who has left the tenant has no say there any more.
    return rule.author and mine and bool(held.within(tenant_id))


def roles_allow(held: Rights, action: str, tenant_id: int | None = None) -> bool:
    """Answer by roles that are known already, for a thing of one tenant or of none."""
    rule = ACTIONS[action]
    if rule.anybody:
        return bool(held)
    return bool(rule.platform & held.platform or rule.tenant & held.within(tenant_id))


def require(user: Person, action: str, obj: Any = None) -> None:
    """Raise ``Denied`` unless ``user`` may do ``action`` with ``obj``."""
    reason = reason_against(user, action, obj)
    if reason is not None:
        raise Denied(reason, action=action, obj=obj)


class Denied(NotAllowed, PermissionDenied):
    """A 403: the object is visible, the action is not allowed."""

    def __init__(self, reason: Reason, *, action: str, obj: Any = None) -> None:
        super().__init__(reason.text, code=reason.code)
        self.action = action
        self.obj = obj


class Hidden(Http404):
    """A 404: there is no such thing for this person."""

    def __init__(self, kind: str, key: object) -> None:
        super().__init__(kind)
        self.kind = kind
        self.key = str(key)


# --- fetching ---------------------------------------------------------------------------------------


def tenant(user: Person, slug: str, to: str = "tenant.see") -> Tenant:
    """Fetch a tenant that ``user`` may do ``to`` with."""
    return fetch(user, tenants(user), to, slug=slug)


def cluster(user: Person, slug: str, to: str = "cluster.see") -> Cluster:
    """Fetch a cluster that ``user`` may do ``to`` with."""
    return fetch(user, clusters(user), to, slug=slug)


def request(user: Person, pk: UUID | str, to: str = "request.see") -> Request:
    """Fetch a request with its cluster, tenant and author."""
    rows = requests(user).select_related("cluster", "tenant", "author", "revision")
    return fetch(user, rows, to, pk=pk)


def person(user: Person, pk: int, to: str = "people.see") -> User:
    """Fetch an account."""
    return fetch(user, people(user), to, pk=pk)


def queue(user: Person, cluster_slug: str, name: str, to: str = "queue.see") -> Queue:
    """Fetch a queue with its cluster and tenant."""
    rows = queues(user).select_related("cluster", "tenant", "department")
    return fetch(user, rows, to, cluster__slug=cluster_slug, name=name)


def fetch(user: Person, rows: QuerySet[M], to: str, **key: Any) -> M:
    """Return the one visible row, or raise ``Hidden``, or ``Denied`` when ``to`` is not allowed.

    A key that cannot be one (a malformed id, a NUL byte) finds nothing, like any other.
    """
    shown = "/".join(map(str, key.values()))
    try:
        # NUL is no text for PostgreSQL, and an error of the database would end a transaction.
        row = rows.none().get() if "\0" in shown else rows.get(**key)
    except (ObjectDoesNotExist, ValueError, ValidationError):
        raise Hidden(rows.model._meta.model_name or "", shown) from None
    require(user, to, row)
    return row
