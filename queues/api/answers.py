"""What all addresses do the same way: read the query, tell the age, page a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import django_filters
from django.db.models import Model, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request

from portal.web.cursors import BadQuery
from queues.selectors.freshness import Freshness, freshness, oldest
from tenants.models import Cluster

M = TypeVar("M", bound=Model)


def filtered(
    filters: type[django_filters.FilterSet], rows: QuerySet[M], request: Request
) -> QuerySet[M]:
    """Narrow ``rows`` as the query says, or refuse a value that cannot be."""
    found = filters(request.query_params, rows, request=request)
    if not found.is_valid():
        field = next(iter(found.errors))
        raise BadQuery(_("This parameter cannot have this value."), field=str(field))
    narrowed: QuerySet[M] = found.qs
    return narrowed


def age(ages: Freshness) -> dict[str, Any]:
    """Give the age of one cluster's data."""
    return {
        "observed_at": ages.at,
        "age_seconds": _seconds(ages.at),
        "lost_since": ages.lost_since,
    }


def age_of(cluster: Cluster, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Read the age of one cluster's data."""
    return age(freshness([cluster.pk], kinds).get(cluster.pk, Freshness()))


def ages_of(clusters: Iterable[Cluster], kinds: tuple[str, ...]) -> dict[str, Any]:
    """Read the age of the data of several clusters: each, and the oldest of all."""
    known = list(clusters)
    return ages(freshness((cluster.pk for cluster in known), kinds), known)


def ages(read: Mapping[int, Freshness], clusters: Iterable[Cluster]) -> dict[str, Any]:
    """Give the age of the data of several clusters; one that was never heard has none."""
    names = {cluster.pk: cluster.slug for cluster in clusters}
    found = {pk: read.get(pk, Freshness()) for pk in names}
    rows = sorted(({"cluster": names[pk], **age(each)} for pk, each in found.items()), key=_slug)
    return {**age(oldest(found)), "clusters": rows}


def at_once() -> dict[str, Any]:
    """Give the age of what the portal itself has decided and stored: none."""
    return {"observed_at": timezone.now(), "age_seconds": 0, "lost_since": None}


def _slug(row: Mapping[str, Any]) -> str:
    return str(row["cluster"])


def _seconds(at: datetime | None) -> int | None:
    return None if at is None else max(0, int((timezone.now() - at).total_seconds()))


def next_page(request: Request, after: str) -> str:
    """Give the address of the next page, with all that was asked for; empty on the last."""
    if not after:
        return ""
    query = request.query_params.copy()
    query["after"] = after
    return f"{request.path}?{query.urlencode()}"
