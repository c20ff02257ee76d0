"""Quota lines: numbers, limits, and the shape that Kueue asks of resource groups."""

from __future__ import annotations

from collections.abc import Iterator

from kube import quantity
from kube.catalog import CPU, MEMORY, Catalog, FlavorSpec, QuotaSpec
from kube.groups import Group, groups
from kube.problems import Problem, Refused, problem
from kube.rules import fields
from kube.rules.fields import Holder

_NUMBERS = ("nominal", "borrowing_limit", "lending_limit")


def numbers(catalog: Catalog) -> Iterator[Problem]:
    """Check every number of every line, and the ratios and sizes of the flavors."""
    for holder in fields.holders(catalog):
        for line in holder.quotas:
            for part in _NUMBERS:
                where = holder.line(line, part)
                yield from _number(where, line.resource, getattr(line, part))
    for flavor in catalog.flavors:
        where = fields.flavor_field(flavor)
        yield from _number(f"{where}.cpu_per_device", CPU, flavor.cpu_per_device)
        yield from _number(f"{where}.memory_per_device", MEMORY, flavor.memory_per_device)
        yield from _number(f"{where}.capacity", "devices", flavor.capacity)


def limits(catalog: Catalog) -> Iterator[Problem]:
    """Check borrowing and lending limits against the place in the tree and the nominal."""
    for holder in fields.holders(catalog):
        for line in holder.quotas:
            if not holder.above:
                yield from _limits_without_tree(holder, line)
            if _lends_too_much(line):
                yield problem(
                    holder.line(line, "lending_limit"),
                    "GP-2166",
                    lending=_text(line.resource, line.lending_limit),
                    nominal=_text(line.resource, line.nominal),
                )


def shape(catalog: Catalog) -> Iterator[Problem]:
    """Check that lines are there, once each, and complete inside their group."""
    flavors = {each.name: each for each in catalog.flavors}
    for holder in fields.holders(catalog):
        if holder.is_queue and not holder.quotas:
            yield problem(f"{holder.field}.quotas", "GP-2167")
        yield from _lines_twice(holder)
        for group in groups(holder.quotas):
            yield from _incomplete(holder, group)
        for line in holder.quotas:
            yield from _wrong_resource(holder, line, flavors.get(line.flavor))
            yield from _device_alone(holder, line)


def counts(catalog: Catalog, status_flavors: int) -> Iterator[Problem]:
    """Check Kueue's upper limits on the size of one object."""
    for holder in fields.holders(catalog):
        parts = groups(holder.quotas)
        flavors = {line.flavor for line in holder.quotas}
        resources = {line.resource for line in holder.quotas}
        pairs = max((len(part.flavors) * len(part.resources) for part in parts), default=0)
        sizes = (
            (len(parts), "resource groups", 16),
            (len(flavors), "flavors", 64),
            (len(resources), "resources", 64),
            (pairs, "flavor and resource pairs in one group", 512),
        )
        for count, things, limit in sizes:
            if count > limit:
                where = f"{holder.field}.quotas"
                yield problem(where, "GP-2170", count=count, things=things, limit=limit)
        if holder.is_queue and status_flavors < len(flavors) <= 64:
            yield problem(
                f"{holder.field}.quotas",
                "GP-2171",
                "warning",
                count=len(flavors),
                limit=status_flavors,
            )


def _number(field: str, resource: str, amount: int | None) -> Iterator[Problem]:
    if amount is None:
        return
    try:
        quantity.checked(resource, amount)
    except Refused as error:
        yield error.at(field)


def _limits_without_tree(holder: Holder, line: QuotaSpec) -> Iterator[Problem]:
    owner = "department" if holder.is_queue else "parent"
    if line.borrowing_limit is not None:
        yield problem(holder.line(line, "borrowing_limit"), "GP-2164", owner=owner)
    if line.lending_limit is not None:
        yield problem(holder.line(line, "lending_limit"), "GP-2165", owner=owner)


def _lends_too_much(line: QuotaSpec) -> bool:
    return line.lending_limit is not None and line.lending_limit > line.nominal


def _lines_twice(holder: Holder) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for line in holder.quotas:
        pair = (line.flavor, line.resource)
        if pair in seen:
            yield problem(holder.line(line), "GP-2160", flavor=line.flavor, resource=line.resource)
        seen.add(pair)


def _incomplete(holder: Holder, group: Group) -> Iterator[Problem]:
    for flavor in group.flavors:
        missing = group.missing(flavor)
        if missing:
            other = next(each for each in group.flavors if each != flavor)
            yield problem(
                f"{holder.field}.quotas",
                "GP-2161",
                first=flavor,
                second=other,
                flavor=flavor,
                missing=", ".join(missing),
            )


def _wrong_resource(
    holder: Holder, line: QuotaSpec, flavor: FlavorSpec | None
) -> Iterator[Problem]:
    if flavor is None or line.resource in (CPU, MEMORY, flavor.resource):
        return
    if line.nominal:
        yield problem(
            holder.line(line, "resource"),
            "GP-2163",
            flavor=line.flavor,
            offered=flavor.resource or "no devices",
            resource=line.resource,
        )


def _device_alone(holder: Holder, line: QuotaSpec) -> Iterator[Problem]:
    if line.resource in (CPU, MEMORY):
        return
    beside = {each.resource for each in holder.quotas if each.flavor == line.flavor}
    missing = [each for each in (CPU, MEMORY) if each not in beside]
    if missing:
        yield problem(
            holder.line(line),
            "GP-2162",
            flavor=line.flavor,
            resource=line.resource,
            missing=" and ".join(missing),
        )


def _text(resource: str, amount: int | None) -> str:
    return quantity.plain(resource, amount or 0)
