"""Quota lines as Kueue's resource groups: what shares a resource or a flavor goes together.

Kueue wants every resource and every flavor in one group only, and every flavor of a group to
list all resources of the group. So the groups are no choice: they are the connected parts of
the graph whose edges are the quota lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kube.catalog import CPU, MEMORY, QuotaSpec


@dataclass(frozen=True, slots=True)
class Group:
    """One resource group: resources in the order of display, flavors in the order of trying."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]
    lines: tuple[QuotaSpec, ...]

    def missing(self, flavor: str) -> tuple[str, ...]:
        """Return the resources for which a flavor of the group has no line."""
        present = {line.resource for line in self.lines if line.flavor == flavor}
        return tuple(each for each in self.resources if each not in present)

    def of(self, flavor: str) -> tuple[QuotaSpec, ...]:
        """Return the lines of one flavor in the order of the resources."""
        mine = (line for line in self.lines if line.flavor == flavor)
        return tuple(sorted(mine, key=lambda line: resource_order(line.resource)))


def resource_order(resource: str) -> tuple[int, str]:
    """Sort CPU first, then memory, then devices by name."""
    return ({CPU: 0, MEMORY: 1}.get(resource, 2), resource)


def groups(quotas: Sequence[QuotaSpec]) -> tuple[Group, ...]:
    """Split quota lines into groups; the flavors keep the order of their first line."""
    parts: list[list[QuotaSpec]] = []
    for line in quotas:
        touched = [part for part in parts if any(_linked(line, other) for other in part)]
        parts = [part for part in parts if part not in touched]
        parts.append([other for part in touched for other in part] + [line])
    order = {line.flavor: index for index, line in reversed(list(enumerate(quotas)))}
    made = (_group(part, order) for part in parts)
    return tuple(sorted(made, key=lambda group: [resource_order(each) for each in group.resources]))


def _linked(one: QuotaSpec, other: QuotaSpec) -> bool:
    return one.flavor == other.flavor or one.resource == other.resource


def _group(lines: list[QuotaSpec], order: dict[str, int]) -> Group:
    resources = sorted({line.resource for line in lines}, key=resource_order)
    flavors = sorted({line.flavor for line in lines}, key=order.__getitem__)
    return Group(tuple(resources), tuple(flavors), tuple(lines))
