"""Render and diff of a thousand tenants, against building and hashing the same bytes bare."""

from __future__ import annotations

import gc
import hashlib
import json
import statistics
import time
from collections.abc import Callable

import pytest

from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    FlavorSpec,
    Preemption,
    PrioritySpec,
    QueueSpec,
    QuotaSpec,
    TenantSpec,
)
from kube.diff import diff_lists
from kube.render import render

TENANTS = 1000
ROUNDS = 5
GOAL = 10.0
GIB = 2**30


def quotas(devices: int) -> tuple[QuotaSpec, ...]:
    each = {"cpu": 12_000, "memory": 128 * GIB, "nvidia.com/gpu": 1}
    return tuple(
        QuotaSpec(flavor="a100", resource=resource, nominal=devices * one, borrowing_limit=8 * one)
        for resource, one in each.items()
    )


def big() -> Catalog:
    flavor = FlavorSpec(
        name="a100", capability="a100-80gb", resource="nvidia.com/gpu", capacity=8 * TENANTS,
        node_labels=(("gpuportal.io/flavor", "a100"),), cpu_per_device=12_000,
        memory_per_device=128 * GIB,
    )  # fmt: skip
    tenants = tuple(
        TenantSpec(
            slug=f"team-{n}",
            display_name=f"Team {n}",
            queues=(
                QueueSpec(
                    name=f"team-{n}-train", cohort="research", quotas=quotas(8),
                    preemption=Preemption(within_cluster_queue="LowerPriority"),
                    entries=(EntrySpec(namespace=f"team-{n}", name=f"team-{n}-gpu"),),
                ),
            ),
        )
        for n in range(TENANTS)
    )  # fmt: skip
    return Catalog(
        flavors=(flavor,), cohorts=(CohortSpec(name="research"),), tenants=tenants,
        priorities=(PrioritySpec(name="normal-batch", value=1000),),
    )  # fmt: skip


def bare(bodies: list[dict[str, object]]) -> None:
    """Build each object anew and hash its canonical text: the least that a plan must do."""
    for body in bodies:
        copy = json.loads(json.dumps(body))
        text = json.dumps(copy, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        hashlib.sha256(text.encode()).hexdigest()


def ours(catalog: Catalog, live: list[dict[str, object]]) -> None:
    wanted = render(catalog)
    assert not diff_lists(live, [dict(each.body) for each in wanted])


def timed(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.bench
def test_render_and_diff_of_a_thousand_tenants(capsys):
    catalog = big()
    live = [dict(each.body) for each in render(catalog)]
    pairs = [(timed(lambda: ours(catalog, live)), timed(lambda: bare(live))) for _ in range(ROUNDS)]
    ratio = statistics.median(mine / base for mine, base in pairs)
    with capsys.disabled():
        print(  # noqa: T201 - the figure is what this is for
            f"\nrender + diff of {TENANTS} tenants, {len(live)} objects: "
            f"{statistics.median(m for m, _ in pairs):.2f} s CPU, "
            f"bare build and hash {statistics.median(b for _, b in pairs):.2f} s, "
            f"ratio {ratio:.1f} (goal {GOAL:.0f} or less)"
        )
    assert ratio <= GOAL
