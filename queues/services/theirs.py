"""Read what another writer set in the cluster back into the catalog's own terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from django.utils.translation import gettext as _

from kube import quantity
from kube.catalog import CPU, Catalog, QueueSpec, QuotaSpec, StopPolicy, Strategy
from kube.diff import owned
from kube.leaves import GROUPS
from kube.problems import Refused as RefusedValue
from kube.render import render
from portal.web.errors import Refused
from queues.models import PlanObject

Fields = dict[str, Any]

_LINE: Final = re.compile(
    re.escape(GROUPS) + r"\[.+?\]\.flavors\[(?P<flavor>[^\]]+)\]"
    r"\.resources\[(?P<resource>[^\]]+)\]\.(?P<part>nominalQuota|borrowingLimit|lendingLimit)"
)
_PARTS: Final = {
    "nominalQuota": "nominal",
    "borrowingLimit": "borrowing_limit",
    "lendingLimit": "lending_limit",
}


class NotExpressible(Refused):
    """The catalog has no words for what stands in the cluster."""

    code = "GP-4302"


def fields_found(planned: PlanObject, changes: Iterable[Mapping[str, Any]]) -> Fields:
    """Return every field of the portal as it stands in the cluster.

    ``changes`` lead from what was found to what is wanted; the rest is as wanted.
    """
    found = dict(owned(planned.wanted, planned.wanted) or {})
    for change in changes:
        if change["kind"] == "add":
            found.pop(change["path"], None)
        else:
            found[change["path"]] = change["before"]
    return found


def followed(catalog: Catalog, planned: PlanObject, found: Fields) -> Catalog:
    """Return the catalog in which one queue is as the cluster has it."""
    if planned.kind != "ClusterQueue":
        raise NotExpressible(_("Only the settings of a queue can be kept as they are."))
    tenants = tuple(
        replace(
            tenant,
            queues=tuple(
                _queue(each, found) if each.name == planned.name else each for each in tenant.queues
            ),
        )
        for tenant in catalog.tenants
    )
    result = replace(catalog, tenants=tenants)
    _check(result, planned, found)
    return result


def _queue(spec: QueueSpec, found: Fields) -> QueueSpec:
    try:
        return replace(
            spec,
            quotas=_lines(found),
            cohort=str(found.get("spec.cohortName", "")),
            strategy=Strategy(str(found.get("spec.queueingStrategy", spec.strategy))),
            stop_policy=StopPolicy(str(found.get("spec.stopPolicy", spec.stop_policy))),
        )
    except ValueError as error:
        raise NotExpressible(_words(str(error))) from None


def _lines(found: Fields) -> tuple[QuotaSpec, ...]:
    """Return the quota lines in the order of the flavors that Kueue would try."""
    lines: dict[tuple[str, str], dict[str, int]] = {}
    for path, value in found.items():
        match = _LINE.fullmatch(path)
        if match:
            key = (match["flavor"], match["resource"])
            lines.setdefault(key, {})[_PARTS[match["part"]]] = _number(key[1], value)
    order = [
        flavor
        for path, value in found.items()
        if path.startswith(GROUPS) and path.endswith("].flavors")
        for flavor in value
    ]
    chosen = sorted(lines, key=lambda key: order.index(key[0]) if key[0] in order else len(order))
    return tuple(
        QuotaSpec(flavor=flavor, resource=resource, **{"nominal": 0, **lines[flavor, resource]})
        for flavor, resource in chosen
    )


def _number(resource: str, value: Any) -> int:
    exact = quantity.canonical(value) * (1000 if resource == CPU else 1)
    if exact.denominator != 1:
        raise RefusedValue(code="GP-2122", value=str(value))
    return quantity.checked(resource, int(exact))


def _check(catalog: Catalog, planned: PlanObject, found: Fields) -> None:
    """Refuse when the catalog would still say something else than the cluster."""
    names = (planned.kind, planned.namespace, planned.name)
    body = next((each.body for each in render(catalog) if tuple(each.ref) == names), None)
    said = owned(body, body) if body is not None else {}
    there = {path: _same_spelling(path, value) for path, value in found.items()}
    paths = sorted(
        path
        for path in {*there, *(said or {})}
        if path.startswith("spec.") and (said or {}).get(path) != there.get(path)
    )
    if paths:
        raise NotExpressible(_words(", ".join(paths[:3])))


def _same_spelling(path: str, value: Any) -> Any:
    if _LINE.fullmatch(path) or path.endswith(".weight"):
        try:
            return quantity.exact(quantity.canonical(value))
        except RefusedValue:
            return value
    return value


def _words(detail: str) -> str:
    sentence = _("The catalog cannot say what stands in the cluster: %(detail)s.")
    return sentence % {"detail": detail}
