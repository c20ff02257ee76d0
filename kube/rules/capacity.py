"""Promises against machines: pools, and CPU and memory beside the devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kube import quantity
from kube.catalog import CPU, MEMORY, Catalog, FlavorSpec, QuotaSpec
from kube.problems import Problem, problem
from kube.rules import fields
from kube.rules.fields import Holder


def committed(catalog: Catalog, flavor: FlavorSpec) -> int:
    """Return the devices of a flavor that queues and departments are promised."""
    return sum(
        line.nominal
        for holder in fields.holders(catalog)
        for line in holder.quotas
        if line.flavor == flavor.name and line.resource == flavor.resource
    )


def pool(flavor: FlavorSpec, pools: Mapping[str, int | None]) -> int | None:
    """Return the devices behind a flavor: as given, else as agreed, else unknown."""
    return pools.get(flavor.name, flavor.capacity)


def fits(catalog: Catalog, pools: Mapping[str, int | None]) -> Iterator[Problem]:
    """Check that no flavor promises more devices than its pool has; unknown is not zero."""
    for flavor in catalog.flavors:
        size = pool(flavor, pools)
        promised = committed(catalog, flavor) if flavor.resource else 0
        if size is not None and promised > size:
            yield problem(
                fields.flavor_field(flavor),
                "GP-2176",
                flavor=flavor.name,
                committed=promised,
                capacity=size,
                excess=promised - size,
            )


def proportion(catalog: Catalog) -> Iterator[Problem]:
    """Warn where CPU or memory does not follow the ratio of the flavor."""
    for flavor in catalog.flavors:
        for holder in fields.holders(catalog):
            lines = {each.resource: each for each in holder.quotas if each.flavor == flavor.name}
            device = lines.get(flavor.resource)
            if device is not None and flavor.resource:
                for resource, ratio in ratios(flavor):
                    if resource in lines:
                        yield from _line(holder, device, lines[resource], ratio)


def ratios(flavor: FlavorSpec) -> tuple[tuple[str, int], ...]:
    """Return what one device comes with, as far as the flavor says so."""
    both = ((CPU, flavor.cpu_per_device), (MEMORY, flavor.memory_per_device))
    return tuple((resource, ratio) for resource, ratio in both if ratio is not None)


def _line(holder: Holder, device: QuotaSpec, line: QuotaSpec, ratio: int) -> Iterator[Problem]:
    expected = device.nominal * ratio
    if line.nominal != expected:
        yield problem(
            holder.line(line, "nominal"),
            "GP-2168",
            "warning",
            resource=line.resource,
            actual=quantity.plain(line.resource, line.nominal),
            devices=device.nominal,
            flavor=line.flavor,
            expected=quantity.plain(line.resource, expected),
            ratio=quantity.plain(line.resource, ratio),
        )
    if line.borrowing_limit is not None and _too_little(device, line.borrowing_limit, ratio):
        yield _borrowing(holder, device, line, ratio)


def _too_little(device: QuotaSpec, limit: int, ratio: int) -> bool:
    return device.borrowing_limit is None or limit < device.borrowing_limit * ratio


def _borrowing(holder: Holder, device: QuotaSpec, line: QuotaSpec, ratio: int) -> Problem:
    limit = device.borrowing_limit
    wanted = "no limit" if limit is None else quantity.plain(line.resource, limit * ratio)
    return problem(
        holder.line(line, "borrowing_limit"),
        "GP-2169",
        "warning",
        resource=line.resource,
        actual=quantity.plain(line.resource, line.borrowing_limit or 0),
        flavor=line.flavor,
        expected=wanted,
    )
