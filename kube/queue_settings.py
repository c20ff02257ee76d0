"""How a cluster's Kueue is set up, as far as it changes the order of its queues. Pure.

What cannot be read stays at Kueue's default: the configuration and the arguments of the manager
are only there when the portal's identity may read them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import yaml

from kube.workload_facts import Object

#: From this release on a workload that makes room loses its place in front when it fails.
FORGETS_PREEMPTOR: Final = (0, 18)
#: From this release on a pod group that waits for replacement pods is not in the queue.
REPLACEMENTS_WAIT: Final = (0, 18)
#: From this release on a visibility call may ask for more than 1,000 rows.
LONG_LISTS: Final = (0, 17, 8)
_NUMBERS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of one Kueue; the defaults are those of Kueue 0.17.

    ``eviction_time``: a workload whose pods were not ready in time goes back to the end of its
    priority. ``cohort_priority``: the gate PrioritySortingWithinCohort; without it one that was
    preempted while it borrowed goes back too. ``boost``: the gate PriorityBoost.
    ``fair_sharing`` is ``None`` when the configuration could not be read.
    """

    eviction_time: bool = True
    cohort_priority: bool = True
    boost: bool = False
    keeps_preemptor: bool = True
    replacements_wait: bool = False
    long_lists: bool = False
    fair_sharing: bool | None = None
    weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, *, version: str = "", gates: str = "", configuration: str = "") -> Self:
        """Read the manager's version, its ``--feature-gates`` and its configuration file."""
        release = tuple(int(number) for number in _NUMBERS.findall(version)[:3])
        found = _configuration(configuration)
        on = _gates(gates, found.get("featureGates"))
        requeuing = _inside(found, "waitForPodsReady", "requeuingStrategy")
        fair = found.get("admissionFairSharing")
        return cls(
            eviction_time=requeuing.get("timestamp") != "Creation",
            cohort_priority=on.get("PrioritySortingWithinCohort", True),
            boost=on.get("PriorityBoost", False),
            keeps_preemptor=not release or release < FORGETS_PREEMPTOR,
            replacements_wait=bool(release) and release >= REPLACEMENTS_WAIT,
            long_lists=bool(release) and release >= LONG_LISTS,
            fair_sharing=(fair is not None) if found else None,
            weights=_weights(_inside(found, "admissionFairSharing", "resourceWeights")),
        )


def _configuration(text: str) -> dict[str, Any]:
    try:
        found = yaml.safe_load(text) if text else None
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def _inside(found: Object, *path: str) -> dict[str, Any]:
    here: Any = found
    for key in path:
        here = here.get(key) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else {}


def _gates(argument: str, mapping: object) -> dict[str, bool]:
    pairs = [pair.partition("=") for pair in argument.split(",") if pair]
    on = {name.strip(): value.strip().lower() == "true" for name, _, value in pairs}
    if isinstance(mapping, dict):
        on |= {str(name): value is True for name, value in mapping.items()}
    return on


def _weights(found: Object) -> dict[str, float]:
    return {
        str(name): float(weight)
        for name, weight in found.items()
        if isinstance(weight, int | float) and not isinstance(weight, bool)
    }
