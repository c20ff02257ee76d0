"""Proposing queues and departments: both hold quota lines, one group of fields per flavor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from kube import names
from kube.catalog import (
    CPU,
    MEMORY,
    Catalog,
    CohortSpec,
    EntrySpec,
    FlavorSpec,
    Fungibility,
    Preemption,
    Purpose,
    QueueSpec,
    QuotaSpec,
    StopPolicy,
    Strategy,
    TenantSpec,
)
from kube.edits import Edit, PutCohort, PutQueue
from kube.problems import Problem
from portal.web.forms import field_of
from tenants.forms.catalog import ProposalForm, words
from tenants.forms.fields import (
    EVERYTHING,
    UNLIMITED,
    CpuField,
    DevicesField,
    LimitField,
    LineField,
    LongField,
    MemoryField,
    PickField,
    StrictField,
    StrictForm,
    WeightField,
    WholeField,
)
from tenants.forms.lines import LinesField, choices_of, read_entry, show_entry

_LINE = re.compile(r"\.quotas\[([^/\]]+)/([^\]]*)\](?:\.(\w+))?$")

PURPOSES: Final = {
    Purpose.TRAINING: _("training"),
    Purpose.INFERENCE: _("inference"),
    Purpose.DEVELOPMENT: _("development"),
}
STRATEGIES: Final = {
    Strategy.BEST_EFFORT_FIFO: _("a job that does not fit lets smaller ones pass"),
    Strategy.STRICT_FIFO: _("strictly in order: the first one blocks those behind it"),
}
STOP_POLICIES: Final = {
    StopPolicy.NONE: _("open"),
    StopPolicy.HOLD: _("closed for new jobs, running ones go on"),
    StopPolicy.HOLD_AND_DRAIN: _("closed, running jobs are stopped"),
}
NEVER, LOWER = ("Never", _("never")), ("LowerPriority", _("jobs of lower priority"))
WITHIN: Final = [
    NEVER,
    LOWER,
    ("LowerOrNewerEqualPriority", _("lower priority, or equal and newer")),
]
RECLAIM: Final = [NEVER, LOWER, ("Any", _("any job that borrows from us"))]
BORROW: Final = [NEVER, LOWER]
SEARCH: Final = [
    ("MayStopSearch", _("take it")),
    ("TryNextFlavor", _("look at the next flavor first")),
]


LIMITS: Final = {
    "borrowing_limit": (_("Borrow at most"), UNLIMITED),
    "lending_limit": (_("Lend at most"), EVERYTHING),
}


@dataclass(frozen=True, slots=True)
class LineRow:
    """The fields of one flavor, for a template."""

    flavor: FlavorSpec
    fields: list[BoundField]


class QuotaLines:
    """The part of a form that holds quota lines. Empty fields mean: not offered here."""

    def __init__(self, form: ProposalForm[Any], catalog: Catalog) -> None:
        self.form = form
        self.flavors = catalog.flavors

    def add(self, lines: Iterable[QuotaSpec]) -> None:
        """Add the fields of every flavor, filled with today's ``lines``."""
        today = {(line.flavor, line.resource): line for line in lines}
        for flavor in self.flavors:
            for resource, field in _number_fields(flavor):
                line = today.get((flavor.name, resource))
                field.initial = line.nominal if line else None
                self.form.fields[_name(flavor, _short(resource))] = field
            if flavor.resource:
                self._add_limits(flavor, today.get((flavor.name, flavor.resource)))

    def _add_limits(self, flavor: FlavorSpec, line: QuotaSpec | None) -> None:
        for part, (label, word) in LIMITS.items():
            field = LimitField(label=label, word=word, required=False)
            field.initial = field.prepare_value(getattr(line, part) if line else None)
            self.form.fields[_name(flavor, part)] = field

    def rows(self) -> list[LineRow]:
        """Return the fields flavor by flavor."""
        return [
            LineRow(flavor, [self.form[name] for name in self.form.fields if _of(name, flavor)])
            for flavor in self.flavors
        ]

    def read(self, values: dict[str, Any], before: Iterable[QuotaSpec]) -> tuple[QuotaSpec, ...]:
        """Return the lines, the flavors that were there first in their order."""
        today = {(line.flavor, line.resource): line for line in before}
        order = [name for name, _resource in today] + [flavor.name for flavor in self.flavors]
        by_name = {flavor.name: flavor for flavor in self.flavors}
        return tuple(
            line
            for name in dict.fromkeys(order)
            if name in by_name
            for line in self._lines(by_name[name], values, today)
        )

    def _lines(
        self, flavor: FlavorSpec, values: dict[str, Any], today: dict[tuple[str, str], QuotaSpec]
    ) -> Iterator[QuotaSpec]:
        for resource, _field in _number_fields(flavor):
            nominal = self._nominal(flavor, resource, values)
            if nominal is not None:
                yield QuotaSpec(
                    flavor=flavor.name,
                    resource=resource,
                    nominal=nominal,
                    **{part: self._limit(flavor, resource, part, values, today) for part in LIMITS},
                )

    @staticmethod
    def _nominal(flavor: FlavorSpec, resource: str, values: dict[str, Any]) -> int | None:
        """Return what was written, or what belongs to the devices where nothing was."""
        written: int | None = values.get(_name(flavor, _short(resource)))
        devices, ratio = values.get(_name(flavor, "devices")), _ratio(flavor, resource)
        if written is None and devices is not None and ratio is not None:
            return int(devices) * ratio
        return written

    @staticmethod
    def _limit(
        flavor: FlavorSpec,
        resource: str,
        part: str,
        values: dict[str, Any],
        today: dict[tuple[str, str], QuotaSpec],
    ) -> int | None:
        """Scale the limit of the devices; one that did not change leaves CPU and memory alone."""
        limit: int | None = values.get(_name(flavor, part))
        line, device = today.get((flavor.name, resource)), today.get((flavor.name, flavor.resource))
        unchanged = not flavor.resource or (device and getattr(device, part) == limit)
        if line is not None and unchanged:
            return getattr(line, part)  # type: ignore[no-any-return]
        ratio = _ratio(flavor, resource)
        return None if limit is None or ratio is None else limit * ratio

    def place_of(self, problem: Problem) -> str | None:
        """Return the field for a problem of a line."""
        match = _LINE.search(problem.field)
        if match is None:
            return None
        part = match[3] if match[3] in LIMITS else _short(match[2])
        name = f"{match[1]}/{part}"
        return name if name in self.form.fields else None


def _number_fields(flavor: FlavorSpec) -> list[tuple[str, StrictField]]:
    rest = _("in proportion") if flavor.resource else ""
    fields: list[tuple[str, StrictField]] = [
        (CPU, CpuField(label=_("CPUs"), required=False, help_text=rest)),
        (MEMORY, MemoryField(label=_("Memory"), required=False, help_text=rest)),
    ]
    if flavor.resource:
        devices = DevicesField(label=_("Devices"), required=False)
        fields.append((flavor.resource, devices))
    return fields


def _short(resource: str) -> str:
    return resource if resource in (CPU, MEMORY) else "devices"


def _name(flavor: FlavorSpec, part: str) -> str:
    return f"{flavor.name}/{part}"


def _of(name: str, flavor: FlavorSpec) -> bool:
    return name.rpartition("/")[0] == flavor.name


def _ratio(flavor: FlavorSpec, resource: str) -> int | None:
    if not flavor.resource or resource == flavor.resource:
        return 1
    return flavor.cpu_per_device if resource == CPU else flavor.memory_per_device


# --- the forms ----------------------------------------------------------------------------------------


class WithLines(ProposalForm[Any]):
    """A form with quota lines."""

    lines: QuotaLines

    def prepare(self) -> None:
        """Add the fields of the lines before the reason."""
        self.lines = QuotaLines(self, self.catalog)
        self.lines.add(self.spec.quotas if self.spec is not None else ())
        self.order_fields([name for name in self.fields if name != "reason"])

    def place_of(self, problem: Problem) -> str | None:
        """Return the field of a line, or another one."""
        return self.lines.place_of(problem) or super().place_of(problem)

    def quotas(self) -> tuple[QuotaSpec, ...]:
        """Return the lines that the fields describe."""
        before = self.spec.quotas if self.spec is not None else ()
        return self.lines.read(self.cleaned_data, before)


class DepartmentForm(WithLines):
    """A node of the quota tree."""

    name = StrictField(label=_("Name"), read=names.subdomain)
    display_name = LineField(label=_("Display name"), required=False)
    parent = PickField(label=_("Part of"), required=False)
    weight = WeightField(label=_("Weight in fair sharing"), required=False)

    def prepare(self) -> None:
        """Offer every other department as the parent."""
        super().prepare()
        own = self.spec.name if self.spec is not None else ""
        known = [each.name for each in self.catalog.cohorts if each.name != own]
        field_of(self, "parent", PickField).choices = choices_of(known, "—")

    def taken(self) -> set[str]:
        """Return the names that exist."""
        return {each.name for each in self.catalog.cohorts}

    def edits(self) -> tuple[Edit, ...]:
        """Return the change as edits."""
        values = {name: value for name, value in self.values().items() if "/" not in name}
        return (PutCohort(cohort=CohortSpec(**values, quotas=self.quotas())),)


class QueueForm(WithLines):
    """A tenant's queue with all its policies."""

    parts = (
        (
            _("Who may stop whom"),
            (
                "within_cluster_queue",
                "reclaim_within_cohort",
                "borrow_within_cohort",
                "max_priority_threshold",
            ),
        ),
        (_("With several flavors"), ("when_can_borrow", "when_can_preempt")),
        (_("Where jobs come in"), ("entries",)),
    )

    name = StrictField(label=_("Name"), read=names.label)
    tenant = PickField(label=_("Tenant"))
    purpose = PickField(label=_("Purpose"), choices=words(PURPOSES))
    cohort = PickField(label=_("Department"), required=False)
    strategy = PickField(label=_("Order"), choices=words(STRATEGIES))
    stop_policy = PickField(label=_("State"), choices=words(STOP_POLICIES))
    weight = WeightField(label=_("Weight in fair sharing"), required=False)
    within_cluster_queue = PickField(label=_("Inside the queue, stop"), choices=WITHIN)
    reclaim_within_cohort = PickField(label=_("To get own quota back, stop"), choices=RECLAIM)
    borrow_within_cohort = PickField(label=_("To borrow, stop"), choices=BORROW)
    max_priority_threshold = WholeField(label=_("...but only up to priority"), required=False)
    when_can_borrow = PickField(label=_("If a flavor fits by borrowing"), choices=SEARCH)
    when_can_preempt = PickField(label=_("If a flavor fits by stopping jobs"), choices=SEARCH)
    entries = LinesField(
        label=_("Entries"),
        item=read_entry,
        show=show_entry,
        help_text=_("namespace/name, one on each line: where jobs come in."),
    )

    def initial_of(self, spec: QueueSpec) -> dict[str, Any]:
        """Return the values, those of the policies included."""
        policies = {
            name: getattr(part, name)
            for part in (spec.preemption, spec.fungibility)
            for name in type(part).__dataclass_fields__
        }
        return {**super().initial_of(spec), **policies}

    def prepare(self) -> None:
        """Offer tenants and departments that exist; a queue keeps its tenant."""
        super().prepare()
        tenants = [each.slug for each in self.catalog.tenants]
        cohorts = [each.name for each in self.catalog.cohorts]
        field_of(self, "tenant", PickField).choices = choices_of(tenants)
        field_of(self, "cohort", PickField).choices = choices_of(cohorts, "—")
        if self.spec is not None:
            self.fields.pop("tenant")
        else:
            for part in (Preemption(), Fungibility(), QueueSpec(name="")):
                for name in type(part).__dataclass_fields__:
                    if name in self.fields and name not in self.initial:
                        self.fields[name].initial = getattr(part, name)

    def place_of(self, problem: Problem) -> str | None:
        """Put an entry that was left out beside the entries."""
        if problem.code == "GP-2210" and dict(problem.params)["kind"] == "entry":
            return "entries"
        return super().place_of(problem)

    def taken(self) -> set[str]:
        """Return the names that exist."""
        return {queue.name for _tenant, queue in self.catalog.queues()}

    def owner(self) -> str:
        """Return the tenant of the queue."""
        if self.spec is None:
            return str(self.cleaned_data["tenant"])
        owners = (tenant.slug for tenant, queue in self.catalog.queues() if queue == self.spec)
        return next(owners)

    def edits(self) -> tuple[Edit, ...]:
        """Return the change as edits."""
        data = self.values()
        queue = QueueSpec(
            name=data["name"],
            purpose=Purpose(data["purpose"]),
            cohort=data["cohort"],
            strategy=Strategy(data["strategy"]),
            stop_policy=StopPolicy(data["stop_policy"]),
            preemption=Preemption(**{n: data[n] for n in Preemption.__dataclass_fields__}),
            fungibility=Fungibility(**{n: data[n] for n in Fungibility.__dataclass_fields__}),
            weight=data["weight"],
            quotas=self.quotas(),
            entries=data["entries"],
        )
        return (PutQueue(tenant=self.owner(), queue=queue),)


class EntryForm(StrictForm):
    """A new door of a namespace into a queue."""

    queue = PickField(label=_("Queue"))
    namespace = StrictField(label=_("Namespace"), read=names.namespace)
    name = StrictField(label=_("Name"), read=names.label)
    reason = LongField(label=_("Reason"), rows=3)

    def __init__(
        self, *args: Any, catalog: Catalog, spec: TenantSpec | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.catalog = catalog
        fields = [field.name for field in self if field.name != "reason"]
        self.groups = [(_("Where jobs come in"), [self[name] for name in fields])]
        field_of(self, "queue", PickField).choices = choices_of(
            queue.name for _tenant, queue in catalog.queues()
        )

    def owner(self) -> str:
        """Return the tenant of the queue."""
        wanted = self.cleaned_data["queue"]
        return next(t.slug for t, queue in self.catalog.queues() if queue.name == wanted)

    def edits(self) -> tuple[Edit, ...]:
        """Return the queue with one entry more."""
        data = self.cleaned_data
        queue = next(q for _tenant, q in self.catalog.queues() if q.name == data["queue"])
        entry = EntrySpec(namespace=data["namespace"], name=data["name"])
        return (
            PutQueue(tenant=self.owner(), queue=replace(queue, entries=(*queue.entries, entry))),
        )
