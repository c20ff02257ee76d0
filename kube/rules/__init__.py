"""Every rule that a catalog must keep: those of Kueue, and those that Kueue does not check.

One function per family of rules; each yields problems and never stops the others, so that a
person sees everything that is wrong at once. What only may be wrong has the severity
``warning``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kube.catalog import Catalog
from kube.problems import Problem
from kube.rules import capacity, flavors, names, queues, quotas, references
from kube.rules.manifests import check_manifest, check_manifests

__all__ = ["CHECKERS", "STATUS_FLAVORS", "check", "check_manifest", "check_manifests"]

#: Kueue 0.17.0 to 0.17.4 cannot write the status of an entry with more flavors than this.
STATUS_FLAVORS: Final = 16

CHECKERS: Final[tuple[Callable[[Catalog], Iterator[Problem]], ...]] = (
    names.well_formed,
    names.used_once,
    names.default_names,
    names.lookalikes,
    references.exists,
    references.tree,
    references.one_tenant_per_namespace,
    flavors.labels,
    flavors.sizes,
    flavors.taints,
    flavors.devices,
    flavors.topologies,
    quotas.numbers,
    quotas.limits,
    quotas.shape,
    queues.weights,
    queues.preemption,
    queues.priorities,
    capacity.proportion,
)


def check(
    catalog: Catalog,
    *,
    pools: Mapping[str, int | None] | None = None,
    status_flavors: int = STATUS_FLAVORS,
) -> tuple[Problem, ...]:
    """Return all problems of a catalog in the order of the rules.

    ``pools`` gives the devices that really stand behind a flavor by its name and goes before
    the agreed capacity; ``None`` there means unknown, which is not checked.
    """
    found = [problem for checker in CHECKERS for problem in checker(catalog)]
    found += quotas.counts(catalog, status_flavors)
    found += capacity.fits(catalog, pools or {})
    return tuple(found)
