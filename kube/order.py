"""The order of an apply: what is named comes before what names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from kube.manifest import Manifest

#: One line per kind. Cohorts are split further: a parent is a wave before its children.
WAVES: Final = (
    "Namespace",
    "Topology",
    "ResourceFlavor",
    "Cohort",
    "ClusterQueue",
    "WorkloadPriorityClass",
    "LocalQueue",
)


def waves(manifests: Iterable[Manifest]) -> tuple[tuple[Manifest, ...], ...]:
    """Split objects into waves; inside one wave the order does not matter to the cluster."""
    all_of_them = tuple(manifests)
    depths = _depths(all_of_them)
    ordered = sorted(all_of_them, key=lambda each: _key(each, depths))
    grouped = groupby(ordered, key=lambda each: _key(each, depths)[:2])
    return tuple(tuple(wave) for _rank, wave in grouped)


def in_order(manifests: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Sort objects by wave, then by namespace and name; equal input gives equal output."""
    return tuple(each for wave in waves(manifests) for each in wave)


def _key(manifest: Manifest, depths: Mapping[str, int]) -> tuple[int, int, str, str, str]:
    known = manifest.kind in WAVES
    rank = WAVES.index(manifest.kind) if known else len(WAVES)
    depth = depths.get(manifest.name, 0) if manifest.kind == "Cohort" else 0
    return (rank, depth, manifest.kind, manifest.namespace, manifest.name)


def _depths(manifests: tuple[Manifest, ...]) -> dict[str, int]:
    parents = {
        each.name: str(each.body.get("spec", {}).get("parentName", ""))
        for each in manifests
        if each.kind == "Cohort"
    }
    return {name: sum(1 for _ in _ancestors(name, parents)) for name in parents}


def _ancestors(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    seen = {name}
    above = parents[name]
    while above in parents and above not in seen:
        seen.add(above)
        yield above
        above = parents[above]
