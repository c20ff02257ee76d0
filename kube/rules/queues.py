"""Policies of queues and departments: weights, preemption and priorities."""

from __future__ import annotations

from collections.abc import Iterator

from kube.catalog import Catalog, PrioritySpec, QueueSpec
from kube.catalog_notes import RANGES
from kube.problems import Problem, Refused, problem
from kube.rules import fields
from kube.weight import parse_weight

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1


def weights(catalog: Catalog) -> Iterator[Problem]:
    """Check fair sharing weights."""
    found = [(fields.queue_field(t, q), q.weight) for t, q in catalog.queues()]
    found += [(fields.named("cohorts", each.name), each.weight) for each in catalog.cohorts]
    for field, weight in found:
        try:
            parse_weight(weight)
        except Refused as error:
            yield error.at(f"{field}.weight")


def preemption(catalog: Catalog) -> Iterator[Problem]:
    """Check that the parts of the preemption contract fit each other."""
    for tenant, queue in catalog.queues():
        yield from _preemption(f"{fields.queue_field(tenant, queue)}.preemption", queue)


def priorities(catalog: Catalog) -> Iterator[Problem]:
    """Check that every priority fits 32 bits; the API server lets too large ones pass."""
    for each in catalog.priorities:
        where = fields.named("priorities", each.name)
        yield from _priority(f"{where}.value", each.value)
        for name in ("preemptions_per_day", "longest_wait_hours"):
            yield from _bound(f"{where}.{name}", getattr(each, name), RANGES[PrioritySpec, name])
    for tenant, queue in catalog.queues():
        threshold = queue.preemption.max_priority_threshold
        where = f"{fields.queue_field(tenant, queue)}.preemption.max_priority_threshold"
        yield from _priority(where, threshold or 0)


def _preemption(field: str, queue: QueueSpec) -> Iterator[Problem]:
    policy = queue.preemption
    borrows = policy.borrow_within_cohort != "Never"
    if borrows and policy.reclaim_within_cohort == "Never":
        yield problem(f"{field}.borrow_within_cohort", "GP-2172")
    if not borrows and policy.max_priority_threshold is not None:
        yield problem(f"{field}.max_priority_threshold", "GP-2174")
    if policy.reclaim_within_cohort != "Never" and not queue.cohort:
        yield problem(f"{field}.reclaim_within_cohort", "GP-2173", "warning")


def _priority(field: str, value: int) -> Iterator[Problem]:
    if not INT32_MIN <= value <= INT32_MAX:
        yield problem(field, "GP-2175", value=value, lowest=INT32_MIN, highest=INT32_MAX)


def _bound(field: str, value: int | None, ends: tuple[int, int]) -> Iterator[Problem]:
    lowest, highest = ends
    if value is not None and not lowest <= value <= highest:
        yield problem(field, "GP-2177", value=value, lowest=lowest, highest=highest)
