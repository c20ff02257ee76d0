"""What surrounds a page: the viewer's tenants, the age of the clusters' data, what is to decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import JSONObject
from django.utils.dateparse import parse_datetime

from queues.models import Stream
from queues.selectors.freshness import QUEUES, of_streams
from queues.selectors.together import together
from tenants import access
from tenants.models import Request, Tenant, User

TENANTS: Final = 30
CLUSTERS: Final = 10


@dataclass(frozen=True, slots=True)
class Age:
    """How old the data of one cluster is; a cluster that was never connected has no age."""

    slug: str
    name: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Shell:
    """The surroundings of every page of one viewer; ``to_decide`` counts requests."""

    tenants: tuple[Tenant, ...] = ()
    ages: tuple[Age, ...] = ()
    to_decide: int = 0


def shell(user: access.Person) -> Shell:
    """Read everything that surrounds a page, in one query."""
    if not isinstance(user, User):
        return Shell()
    found = together(tenants=_tenants(user), clusters=_clusters(user), to_decide=_to_decide(user))
    return Shell(
        tuple(Tenant(**each) for each in found["tenants"]),
        tuple(_age(each) for each in found["clusters"] if each["lines"]),
        len(found["to_decide"]),
    )


def _tenants(user: User) -> QuerySet[Any]:
    """Give own tenants, or the first of all for the platform."""
    facts = JSONObject(pk="pk", slug="slug", display_name="display_name")
    return access.tenants(user).order_by("slug").values(json=facts)[:TENANTS]


def _clusters(user: User) -> QuerySet[Any]:
    line = JSONObject(alive_at="alive_at", lost_since="lost_since", error="error")
    lines = Stream.objects.filter(cluster=OuterRef("pk"), kind__in=QUEUES).order_by("kind")
    facts = JSONObject(
        slug="slug", name="display_name", lines=ArraySubquery(lines.values(json=line))
    )
    return access.clusters(user).order_by("slug").values(json=facts)[:CLUSTERS]


def _to_decide(user: User) -> QuerySet[Any] | None:
    """Count what waits for a decision that the viewer may take."""
    held = access.rights(user)
    if not held.platform & {access.APPROVER, access.ADMIN}:
        return None
    led = held.tenant_ids(frozenset({access.LEAD}))
    waiting = access.requests(user).filter(state=Request.State.PLANNED)
    rows = waiting.exclude(author=user).exclude(tenant__in=led)
    return rows.order_by().values(json=JSONObject(pk="pk"))


def _age(row: Mapping[str, Any]) -> Age:
    lines = [
        Stream(
            alive_at=_time(each["alive_at"]), lost_since=_time(each["lost_since"]),
            error=each["error"],
        )
        for each in row["lines"]
    ]  # fmt: skip
    return Age(row["slug"], row["name"] or row["slug"], of_streams(lines).at)


def _time(text: str | None) -> datetime | None:
    return parse_datetime(text) if text else None
