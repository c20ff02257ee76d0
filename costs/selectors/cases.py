"""Cases of idle devices as pages show them."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import OuterRef, QuerySet, Value, When
from django.db.models.functions import JSONObject

from costs.models import Case
from queues.compiled import Part
from queues.selectors.together import columns, row_of
from tenants.models import Cluster, Tenant

#: Those that need somebody come first.
_ORDER: Final = (
    Case.State.ASKED, Case.State.OPEN, Case.State.TAKE_BACK, Case.State.JUSTIFIED, Case.State.CLOSED,
)  # fmt: skip
#: Cases that a page lists.
LISTED: Final = 100


def cases() -> QuerySet[Case]:
    """Return cases with what their lines name, those that need somebody first."""
    rank = models.Case(
        *(When(state=state, then=Value(n)) for n, state in enumerate(_ORDER)),
        output_field=models.IntegerField(),
    )
    rows = Case.objects.select_related("cluster", "tenant", "asked_by", "answered_by")
    return rows.annotate(rank=rank).order_by("rank", "-devices", "-found_at", "pk")


def of_tenant(tenant_id: int) -> list[Case]:
    """Return the cases of a tenant, closed ones last; one query."""
    return list(cases().filter(tenant=tenant_id)[:LISTED])


def of_cluster(cluster_id: int) -> list[Case]:
    """Return the open cases of a cluster; one query."""
    return list(cases().filter(cluster=cluster_id).exclude(state=Case.State.CLOSED)[:LISTED])


_SHOWN: Final = ("id", "kind", "queue", "flavor", "devices", "asked_at")
_CLUSTER: Final = ("slug", "display_name")


def question_rows() -> ArraySubquery:
    """Return the cases that wait for an answer, for the row of their tenant."""
    rows = Case.objects.filter(tenant=OuterRef("pk"), state=Case.State.ASKED)
    facts = columns(_SHOWN)
    of_cluster = JSONObject(**{name: f"cluster__{name}" for name in _CLUSTER})
    row = JSONObject(case=facts, cluster=of_cluster)
    return ArraySubquery(rows.order_by("asked_at", "pk").values(json=row)[:LISTED])


QUESTIONS: Final = Part(Tenant, question_rows)


def questions(tenant: Tenant) -> list[Case]:
    """Return the cases that wait for an answer of a tenant that was read with ``QUESTIONS``."""
    rows: list[dict[str, Any]] = getattr(tenant, "its_questions", None) or []
    found = [(row_of(Case, each["case"]), row_of(Cluster, each["cluster"])) for each in rows]
    for case, cluster in found:
        case.cluster = cluster
    return [case for case, _cluster in found]


def asked(tenant_id: int) -> int:
    """Return how many cases wait for an answer of a tenant; one query."""
    return Case.objects.filter(tenant=tenant_id, state=Case.State.ASKED).count()
