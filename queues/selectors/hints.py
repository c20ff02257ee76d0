"""What the cluster says about the very thing that stops a job: limits, labels, levels, machines.

Only what the deciding reason is about is read, and only of what the viewer may see: the namespace
of the job, and the flavors, topologies and checks of its queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import F, JSONField, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import JSONObject

from queues.models import ObservedObject, Workload
from queues.selectors.positions import WAITING
from queues.selectors.room import Key, amount
from queues.selectors.together import columns

CHECKS: Final = frozenset({"check_pending", "check_retry", "check_rejected", "check_not_active"})
TAINTED: Final = frozenset({"untolerated_taint", "pods_untolerated_taint"})
LABELLED: Final = frozenset({"selector_mismatch", "no_matching_flavor", "pods_match_no_node"})
LEVELLED: Final = frozenset({"topology_too_small", "topology_partly", "topology_level_unknown"})
#: What is told of the job at the head of a strict queue.
HEAD: Final = ("id", "namespace", "name", "job_name", "never")


@dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor as the cluster has it: the labels by which its machines are chosen, their taints."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    topology: str = ""


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known beside a reason; all of it is empty where the reason is about something else.

    ``limits`` are the limits of LimitRanges in the namespace as (name, limit). ``flavors`` are
    those of the reason or of the queue, by name. ``levels`` are the labels of each topology, the
    widest first. ``largest`` is what the largest machine offers, by flavor and resource.
    ``unbacked`` are flavors whose labels no machine carries, though the cluster has machines.
    ``controllers`` names who decides each check. ``head`` is the first job of the line.
    """

    limits: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    largest: Mapping[Key, int] = field(default_factory=dict)
    unbacked: frozenset[str] = frozenset()
    controllers: Mapping[str, str] = field(default_factory=dict)
    head: Workload | None = None


# What machines of a flavor offer, each amount of each device once. One that is closed or not ready
# counts too: it may come back, so a pod that fits it does not wait in vain.
_OFFERS: Final = """(
    SELECT jsonb_agg(DISTINCT jsonb_build_array(offer.key, offer.value))
    FROM queues_observedobject n, jsonb_each_text(
        CASE jsonb_typeof(n.body -> 'allocatable')
            WHEN 'object' THEN n.body -> 'allocatable' ELSE '{}'::jsonb END
    ) offer
    WHERE n.cluster_id = queues_observedobject.cluster_id AND n.kind = 'Node'
        AND n.body -> 'labels' @> (queues_observedobject.body #> '{spec,nodeLabels}')
        AND strpos(offer.key, '/') > 0
)"""

# How many machines carry the labels of a flavor, and how many there are.
_CARRIERS: Final = """(
    SELECT jsonb_build_array(
        count(*) FILTER (
            WHERE n.body -> 'labels' @> (queues_observedobject.body #> '{spec,nodeLabels}')
        ), count(*)
    )
    FROM queues_observedobject n
    WHERE n.cluster_id = queues_observedobject.cluster_id AND n.kind = 'Node'
)"""


def hint_rows(job: Workload, flavors: Iterable[str]) -> dict[str, QuerySet[Any]]:
    """Give what ``hints`` reads as parts of a query; nothing where the reason asks for nothing.

    ``flavors`` are those of the job's queue, as far as the viewer may see it.
    """
    code = job.code
    rows: dict[str, QuerySet[Any]] = {}
    if code == "limit_range":
        rows["limits"] = _objects(job, "LimitRange", Q(namespace=job.namespace))
    if code in TAINTED | LABELLED | LEVELLED:
        more: dict[str, Any] = {}
        if code == "topology_too_small":
            # A constant text.
            more["offers"] = RawSQL(_OFFERS, (), output_field=JSONField())  # noqa: S611
        if code == "pods_match_no_node":
            # A constant text too.
            more["carriers"] = RawSQL(_CARRIERS, (), output_field=JSONField())  # noqa: S611
        rows["flavors"] = _objects(job, "ResourceFlavor", _about(job, flavors), **more)
    if code in LEVELLED:
        rows["levels"] = _objects(job, "Topology", Q())
    if code in CHECKS:
        check = str(job.params.get("check", ""))
        rows["checks"] = _objects(job, "AdmissionCheck", Q(name=check))
    if code == "behind_head" and job.queue:
        line = Workload.objects.filter(cluster=job.cluster_id, queue=job.queue, state=WAITING)
        rows["head"] = line.filter(position=1).order_by().values(json=columns(HEAD))
    return rows


def _about(job: Workload, flavors: Iterable[str]) -> Q:
    """Give the flavors that the reason is about: what it names, what is held, or all there are."""
    if topology := job.params.get("topology"):
        return Q(body__spec__topologyName=str(topology))
    named = job.params.get("flavor")
    held = {str(each.get("flavor", "")) for each in job.held}
    return Q(name__in=sorted({str(named)} if named else held or set(flavors)))


def _objects(job: Workload, kind: str, which: Q, **more: Any) -> QuerySet[Any]:
    rows = ObservedObject.objects.filter(which, cluster=job.cluster_id, kind=kind).order_by()
    return rows.values(json=JSONObject(name="name", spec=F("body__spec"), **more))


def hints(job: Workload, found: Mapping[str, list[Any]]) -> Hints:
    """Read what the parts of ``hint_rows`` found."""
    head = next(iter(found.get("head", ())), None)
    return Hints(
        limits=tuple(
            (row["name"], limit)
            for row in sorted(found.get("limits", ()), key=lambda each: str(each["name"]))
            for limit in _list(row, "limits")
        ),
        flavors={row["name"]: _flavor(row) for row in found.get("flavors", ())},
        levels={
            row["name"]: tuple(str(each.get("nodeLabel", "")) for each in _list(row, "levels"))
            for row in found.get("levels", ())
        },
        largest=_largest(found.get("flavors", ())),
        unbacked=frozenset(filter(None, map(_unbacked, found.get("flavors", ())))),
        controllers={
            row["name"]: str((row["spec"] or {}).get("controllerName", ""))
            for row in found.get("checks", ())
        },
        head=Workload(cluster=job.cluster, **head) if head else None,
    )


def _list(row: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = (row["spec"] or {}).get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _flavor(row: Mapping[str, Any]) -> Flavor:
    spec = row["spec"] or {}
    labels = spec.get("nodeLabels") or {}
    return Flavor(
        name=row["name"],
        labels={str(key): str(value) for key, value in labels.items()},
        taints=tuple(_list(row, "nodeTaints")),
        topology=str(spec.get("topologyName") or ""),
    )


def _largest(rows: Iterable[Mapping[str, Any]]) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for row in rows:
        for resource, text in row.get("offers") or ():
            key = row["name"], resource
            found[key] = max(found.get(key, 0), amount(resource, text))
    return found


def _unbacked(row: Mapping[str, Any]) -> str:
    """Give the name of a flavor that chooses machines by labels which none of them carries."""
    carriers, machines = row.get("carriers") or (0, 0)
    labelled = bool((row["spec"] or {}).get("nodeLabels"))
    return str(row["name"]) if labelled and machines and not carriers else ""
