"""The committed catalog: read its newest state, commit the next one.

A ``Revision`` is written once and never changed. The rows beside it (pools, departments,
tenants, queues, lines, entries, priorities) are the newest revision spread out by
``tenants.services.projection`` in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext_lazy as _

from kube import catalog_json
from kube import edits as kube_edits
from kube.catalog import Catalog
from kube.digest import digest
from portal.web.errors import Refused
from tenants import audit
from tenants.models import Cluster, Revision, User
from tenants.services import projection

SUMMARY_LIMIT = 200


class Removal(Refused):
    """A commit would lose something that exists; leaving is a change of its own, not absence."""

    code = "GP-1201"


def newest(cluster: Cluster) -> Revision | None:
    """Return the newest revision, or nothing before the first."""
    return Revision.objects.filter(cluster=cluster).order_by("-number").first()


def head(cluster: Cluster) -> Catalog:
    """Return the newest committed catalog; an empty one before the first revision."""
    revision = newest(cluster)
    return catalog_of(revision) if revision else Catalog()


def catalog_of(revision: Revision) -> Catalog:
    """Read the catalog that a revision holds."""
    return catalog_json.load(revision.catalog)


@transaction.atomic
def commit_revision(
    *, cluster: Cluster, catalog: Catalog, actor: User | None, summary: str
) -> Revision:
    """Write the next revision of ``cluster`` and spread it out over the rows.

    The cluster's row is the lock: numbers have no gaps and no two commits build on one head.
    """
    Cluster.objects.select_for_update().get(pk=cluster.pk)
    last = newest(cluster)
    gone = lost(catalog_of(last), catalog) if last else []
    if gone:
        sentence = _("This would remove %(things)s. Nothing is removed by leaving it out.")
        raise Removal(sentence % {"things": ", ".join(gone[:5])}, details={"lost": gone})
    body = catalog_json.dump(catalog)
    revision = Revision.objects.create(
        cluster=cluster,
        number=last.number + 1 if last else 1,
        catalog=body,
        digest=digest(body),
        summary=summary[:SUMMARY_LIMIT],
        committed_by=actor,
    )
    projection.spread(cluster, catalog)
    audit.record(
        "revision.commit",
        actor=actor,
        scope=audit.PLATFORM,
        obj=revision,
        data={
            "cluster": cluster.slug,
            "number": revision.number,
            "digest": revision.digest,
            "summary": revision.summary,
        },
    )
    return revision


def lost(before: Catalog, after: Catalog) -> list[str]:
    """Name what ``before`` has and ``after`` lacks, as "kind name"."""
    facts = [dict(problem.params) for problem in kube_edits.missing(before, after)]
    return [f"{each['kind']} {each['name']}" for each in facts]


@dataclass(frozen=True, slots=True)
class Head:
    """The newest state of a cluster, with its number."""

    cluster: Cluster
    number: int
    catalog: Catalog
    revision: Revision | None


def heads(clusters: Iterable[Cluster]) -> list[Head]:
    """Return the newest state of each cluster, in two queries however many there are."""
    found = list(clusters)
    tops = Revision.objects.filter(cluster__in=found).values("cluster").annotate(top=Max("number"))
    top_of: dict[Any, int] = {row["cluster"]: row["top"] for row in tops}
    rows = Revision.objects.filter(cluster__in=found, number__in=set(top_of.values()))
    newest_of = {row.cluster_id: row for row in rows if row.number == top_of[row.cluster_id]}
    return [_head(cluster, newest_of.get(cluster.pk)) for cluster in found]


def _head(cluster: Cluster, revision: Revision | None) -> Head:
    if revision is None:
        return Head(cluster, 0, Catalog(), None)
    return Head(cluster, revision.number, catalog_of(revision), revision)
