"""The bill against the cluster: what was billed, for which nodes, and were they there.

Two amounts stand in a bill. *Billed* is what the invoice asks for; *effective* spreads what was
paid in advance over its use, and is what a node costs. Over a period both add up to the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from costs.policy import Bucket
from costs.rates import cost
from costs.states import BILLED_AND_PROVISIONED, Code, Finding, compare


class Category(StrEnum):
    """The kinds of charges of FOCUS."""

    USAGE = "Usage"
    PURCHASE = "Purchase"
    TAX = "Tax"
    CREDIT = "Credit"
    ADJUSTMENT = "Adjustment"


UNUSED: Final = "Unused"
CORRECTION: Final = "Correction"


class BillLine(NamedTuple):
    """What of a row of the bill decides where its money goes. ``gpus`` of its machine."""

    category: Category
    billed: Decimal
    effective: Decimal
    resource: str = ""
    commitment_status: str = ""
    charge_class: str = ""
    gpus: int = 0


class Sums(NamedTuple):
    """Billed and effective amounts of several rows."""

    billed: Decimal
    effective: Decimal


class Sorted(NamedTuple):
    """Effective amounts by node and by bucket, and what belongs to an earlier period."""

    nodes: dict[str, Decimal]
    buckets: dict[Bucket, Decimal]
    corrections: Decimal

    @property
    def total(self) -> Decimal:
        """Return all of it: every row stands in one place."""
        parts = (*self.nodes.values(), *self.buckets.values(), self.corrections)
        return sum(parts, Decimal(0))


def sums(lines: Iterable[BillLine]) -> Sums:
    """Add up rows, both ways."""
    found = list(lines)
    return Sums(
        sum((line.billed for line in found), Decimal(0)),
        sum((line.effective for line in found), Decimal(0)),
    )


def sort(lines: Iterable[BillLine], nodes: Iterable[str]) -> Sorted:
    """Sort rows to the nodes of the cluster, and what is no node's into buckets.

    ``nodes`` are the resource ids of all nodes that the cluster has had. A machine with GPUs
    that is none of them is an orphan; what has no GPUs is shared.
    """
    known = set(nodes)
    found = Sorted({}, {}, Decimal(0))
    for line in lines:
        if line.charge_class == CORRECTION:
            found = found._replace(corrections=found.corrections + line.effective)
        elif line.resource in known and line.commitment_status != UNUSED:
            before = found.nodes.get(line.resource, Decimal(0))
            found.nodes[line.resource] = before + line.effective
        else:
            bucket = _bucket(line)
            found.buckets[bucket] = found.buckets.get(bucket, Decimal(0)) + line.effective
    return found


def _bucket(line: BillLine) -> Bucket:
    if line.commitment_status == UNUSED:
        return Bucket.UNUSED
    return Bucket.ORPHAN if line.gpus else Bucket.SHARED


class NodeMatch(NamedTuple):
    """One node in the bill and in the cluster, with the money that the difference is worth."""

    finding: Finding
    billed: Fraction
    money: Fraction


def match(
    node: str, billed: int, seen: int, rate: Decimal, *, absent: int | None = None
) -> NodeMatch:
    """Compare the seconds that a node was billed for with those that it was seen.

    ``rate`` is that of the whole node; without a bill it makes an estimate. ``absent`` are
    billed seconds of hours in which it was not seen at all (all of the difference, if not told):
    only those make an orphan of it, the others are partial hours.
    """
    lacking = billed - seen if absent is None else absent
    code = Code.ORPHAN_NODE if lacking > 0 else Code.OVER_BILLED
    if seen > billed:
        code = Code.UNDER_BILLED if billed else Code.CLUSTER_NOT_BILLED
    finding = compare(node, billed, seen, BILLED_AND_PROVISIONED, code)
    return NodeMatch(finding, cost(billed, rate), cost(abs(billed - seen), rate))


def provider_key(provider_id: str) -> str:
    """Return the part of a node's provider id that a bill names, in small letters for Azure.

    ``aws:///eu-1a/i-0abc`` gives ``i-0abc``; an empty id gives an empty key, which is nobody's.
    """
    kind, _, rest = provider_id.partition("://")
    name = (rest or kind).rstrip("/")
    if kind == "azure":
        return name.lower()
    return name.rsplit("/", 1)[-1]
