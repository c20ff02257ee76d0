"""What the metrics of a month find beside the gauges: use of nobody, shared devices, other slices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from django.db.models import Max, Sum

from costs.models import UsedHour
from costs.selectors.control import BUSY
from costs.selectors.hours import within
from costs.selectors.uses import fits
from costs.states import Code, Finding
from costs.times import Span, moment
from costs.used import MILLI
from queues.models import PodInterval, PodRun

_MIG: Final = "/mig-"
_CHUNK: Final = 5000


class _Slices(NamedTuple):
    """Pods of a namespace that asked for one slice and were seen on another."""

    cluster: str
    namespace: str
    asked: str
    profile: str


def of_span(span: Span) -> list[Finding]:
    """Return what was found in all clusters, by node or namespace; five queries at most."""
    return [*_of_nobody(span), *_shared(span), *_slices(span)]


def _of_nobody(span: Span) -> Iterator[Finding]:
    """Yield nodes whose devices were busy without a pod: labels were lost, or a host process ran."""
    rows = UsedHour.objects.filter(within(span), pod="").values_list("cluster__slug", "node")
    for slug, node, used, seen in rows.annotate(u=Sum("used"), s=Sum("seen")).order_by(
        "cluster__slug", "node"
    ):
        if used > seen * MILLI * BUSY:
            yield Finding(
                Code.UNATTRIBUTED_USE, f"{slug} {node}".strip(), Fraction(used, MILLI),
                Fraction(seen), cluster=slug, facts={"node": node},
            )  # fmt: skip


def _shared(span: Span) -> Iterator[Finding]:
    """Yield nodes with devices that several pods had at a time; each device counts once."""
    rows = UsedHour.objects.filter(within(span), shared__gt=1).exclude(pod="")
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    most: dict[tuple[str, str], int] = defaultdict(int)
    keys = ("cluster__slug", "node", "shared")
    for slug, node, pods, seen in rows.values_list(*keys).annotate(s=Sum("seen")).order_by(*keys):
        found[slug, node] += Fraction(seen, pods)
        most[slug, node] = max(most[slug, node], pods)
    for (slug, node), seconds in sorted(found.items()):
        yield Finding(
            Code.SHARED_DEVICE, f"{slug} {node}".strip(), seconds, seconds, cluster=slug,
            facts={"node": node, "pods": most[slug, node]},
        )  # fmt: skip


def _slices(span: Span) -> Iterator[Finding]:
    """Yield pods that asked for a slice and were seen on one of another profile."""
    rows = UsedHour.objects.filter(within(span)).exclude(profile="").exclude(pod="")
    keys = ("cluster", "cluster__slug", "namespace", "pod", "profile")
    seen = list(rows.values_list(*keys).annotate(seen_=Sum("seen"), node_=Max("node")))
    asked = _asked(span) if seen else {}
    pods: dict[_Slices, set[str]] = defaultdict(set)
    seconds: dict[_Slices, int] = defaultdict(int)
    nodes: dict[_Slices, str] = {}
    for cluster, slug, namespace, pod, profile, device_seconds, node in seen:
        wanted = asked.get((cluster, namespace, pod), set())
        if not wanted or any(fits(resource, profile) for resource in wanted):
            continue
        names = ", ".join(sorted(each.rpartition(_MIG)[2] for each in wanted))
        key = _Slices(slug, namespace, names, profile)
        pods[key].add(pod)
        seconds[key] += device_seconds
        nodes[key] = max(nodes.get(key, ""), node)
    for key in sorted(pods):
        yield Finding(
            Code.MIG_MISMATCH, " ".join(key), Fraction(seconds[key]), Fraction(seconds[key]),
            cluster=key.cluster,
            facts={
                "namespace": key.namespace, "asked": key.asked, "seen": key.profile,
                "pods": len(pods[key]), "pod": min(pods[key]), "node": nodes[key],
            },
        )  # fmt: skip


def _asked(span: Span) -> dict[tuple[int, str, str], set[str]]:
    """Return the slices that pods asked for at any time of a span; two queries."""
    lo, hi = moment(span.starts), moment(span.ends)
    found: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    over = PodInterval.objects.filter(ends__gt=lo, starts__lt=hi)
    lasting = PodRun.objects.filter(starts__lt=hi)
    for rows in (over, lasting):
        columns = rows.filter(resource__contains=_MIG).values_list(
            "cluster", "namespace", "name", "resource"
        )
        for cluster, namespace, name, resource in columns.distinct().iterator(chunk_size=_CHUNK):
            found[cluster, namespace, name].add(resource)
    return found
