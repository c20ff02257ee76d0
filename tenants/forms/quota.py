"""Asking for quota: one row for each flavor of each queue, today's numbers beside the new ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kube.catalog import CPU, MEMORY, Catalog, FlavorSpec, QueueSpec, QuotaSpec
from kube.edits import SetQuota
from kube.problems import Problem
from tenants.forms.fields import (
    EVERYTHING,
    UNLIMITED,
    DevicesField,
    LimitField,
    LongField,
    StrictForm,
)
from tenants.services.proposals import Proposal, propose

_LINE = re.compile(r"queues\[([^\]]+)\]\.quotas\[([^/\]]+)/[^\]]*\](?:\.(\w+))?$")
_FLAVOR = re.compile(r"^flavors\[([^\]]+)\]")
PARTS = ("nominal", "borrowing_limit", "lending_limit")


@dataclass(frozen=True, slots=True)
class Offer:
    """A flavor of a queue as it is today. ``ratio`` is CPU and memory for one device."""

    queue: QueueSpec
    flavor: FlavorSpec
    today: QuotaSpec
    beside: tuple[QuotaSpec, ...]

    def name(self, part: str) -> str:
        """Return the name of a field of this row."""
        return f"{self.queue.name}/{self.flavor.name}/{part}"

    @property
    def ratio(self) -> dict[str, int | None]:
        """Return CPU and memory for one device."""
        return {CPU: self.flavor.cpu_per_device, MEMORY: self.flavor.memory_per_device}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the form for a template."""

    offer: Offer
    nominal: BoundField
    borrowing_limit: BoundField | None
    lending_limit: BoundField | None


class QuotaRequestForm(StrictForm):
    """The wish of a tenant for one cluster. CPU and memory follow the flavor's ratio."""

    none_left = forms.BooleanField(
        required=False, label=_("Yes, leave it nothing of its own: that is what is asked for")
    )
    reason = LongField(
        label=_("Reason"), help_text=_("What is it for, and what happens without it?")
    )
    #: Fields beside the numbers: what is wrong with them keeps no preview back.
    not_numbers: frozenset[str] = frozenset({"reason", "none_left", "__all__"})

    def __init__(self, *args: Any, catalog: Catalog, tenant: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.catalog = catalog
        self.tenant = tenant
        self.offers = offers(catalog, tenant)
        for offer in self.offers:
            self._add(offer)
        self.order_fields([name for name in self.fields if name not in self.not_numbers])

    def _add(self, offer: Offer) -> None:
        today = offer.today
        self.fields[offer.name("nominal")] = DevicesField(label=_("Quota"), initial=today.nominal)
        if not offer.queue.cohort:
            return
        self.fields[offer.name("borrowing_limit")] = LimitField(
            label=_("Borrow at most"),
            word=UNLIMITED,
            initial=today.borrowing_limit,
            help_text=_("A number, or the word “unlimited”. 0 borrows nothing."),
        )
        self.fields[offer.name("lending_limit")] = LimitField(
            label=_("Lend at most"),
            word=EVERYTHING,
            initial=today.lending_limit,
            help_text=_("A number, or the word “everything”. 0 lends nothing."),
        )

    def clean(self) -> dict[str, Any]:
        """Ask once more where nothing would be left: a 0 is quickly typed."""
        cleaned = super().clean() or self.cleaned_data
        if self.emptied and not cleaned.get("none_left"):
            lines = ", ".join(f"{each.queue.name} · {each.flavor.name}" for each in self.emptied)
            self.add_error(
                "none_left",
                gettext(
                    "With 0 GPUs nothing of its own is left to %(lines)s: jobs start there only "
                    "with borrowed GPUs, if it may borrow. Tick the box if that is meant."
                )
                % {"lines": lines},
            )
        return cleaned

    @property
    def emptied(self) -> list[Offer]:
        """Return the lines that have devices today and would have none."""
        sent = getattr(self, "cleaned_data", {})
        return [
            offer
            for offer in self.offers
            if offer.today.nominal and sent.get(offer.name("nominal")) == 0
        ]

    def get_initial_for_field(self, field: Any, field_name: str) -> Any:
        """Show a limit that is not set as its word, not as an empty field."""
        value = super().get_initial_for_field(field, field_name)
        return field.prepare_value(value) if isinstance(field, LimitField) else value

    def fill_in(self, query: QueryDict) -> tuple[list[str], list[str]]:
        """Start with the values of a link instead of today's, as far as they could be sent.

        Returns the names of the fields that were filled in, and of those whose value nobody
        could send: these keep today's value. A name that is no field here is passed over.
        """
        filled, refused = [], []
        for name in filter(self.fields.__contains__, query):
            try:
                [text] = query.getlist(name)
                self.initial[name] = self.fields[name].clean(text)
            except (ValidationError, ValueError):
                refused.append(name)
            else:
                filled.append(name)
        return filled, refused

    def as_sent(self) -> dict[str, str]:
        """Return what a browser would send if nobody changed anything."""
        values = {
            name: self.get_initial_for_field(field, name) for name, field in self.fields.items()
        }
        return {name: "" if value is None else str(value) for name, value in values.items()}

    @property
    def rows(self) -> list[Row]:
        """Return the rows in the order of the catalog."""
        return [
            Row(
                offer,
                self[offer.name("nominal")],
                self._maybe(offer.name("borrowing_limit")),
                self._maybe(offer.name("lending_limit")),
            )
            for offer in self.offers
        ]

    def _maybe(self, name: str) -> BoundField | None:
        return self[name] if name in self.fields else None

    def edits(self) -> tuple[SetQuota, ...]:
        """Return what is asked for: the lines whose numbers differ from today's."""
        return tuple(edit for offer in self.offers for edit in self._edits_of(offer))

    def _edits_of(self, offer: Offer) -> tuple[SetQuota, ...]:
        wanted = {part: self.cleaned_data.get(offer.name(part)) for part in PARTS}
        today = {part: getattr(offer.today, part) for part in PARTS}
        if not offer.queue.cohort:
            wanted |= {"borrowing_limit": None, "lending_limit": None}
        if wanted == today:
            return ()
        nominal = int(wanted["nominal"] or 0)
        limits = (wanted["borrowing_limit"], wanted["lending_limit"])
        lines = (*((line, offer.ratio[line.resource]) for line in offer.beside), (offer.today, 1))
        return tuple(
            _scaled(offer, line.resource, nominal, limits, each)
            for line, each in lines
            if each is not None
        )

    def proposal(self) -> Proposal:
        """Return what the catalog would become; only after ``is_valid``."""
        return propose(self.catalog, self.edits())

    def place_of(self, problem: Problem) -> str | None:
        """Return the field of a line, also for what is wrong with its CPU or its pool."""
        if match := _LINE.search(problem.field):
            name = f"{match[1]}/{match[2]}/{match[3] or 'nominal'}"
            return name if name in self.fields else None
        if match := _FLAVOR.match(problem.field):
            changed = {edit.queue for edit in self.edits() if edit.flavor == match[1]}
            names = [f"{queue}/{match[1]}/nominal" for queue in sorted(changed)]
            return next((name for name in names if name in self.fields), None)
        return super().place_of(problem)


def _scaled(
    offer: Offer, resource: str, nominal: int, limits: tuple[Any, Any], each: int
) -> SetQuota:
    borrowing, lending = limits
    return SetQuota(
        queue=offer.queue.name,
        flavor=offer.flavor.name,
        resource=resource,
        nominal=nominal * each,
        borrowing_limit=None if borrowing is None else borrowing * each,
        lending_limit=None if lending is None else lending * each,
    )


def offers(catalog: Catalog, tenant: str) -> list[Offer]:
    """Return the device flavors of a tenant's queues, in catalog order."""
    flavors = {flavor.name: flavor for flavor in catalog.flavors}
    return [
        Offer(queue, flavors[line.flavor], line, _beside(queue, line))
        for spec, queue in catalog.queues()
        if spec.slug == tenant
        for line in queue.quotas
        if line.flavor in flavors and line.resource == flavors[line.flavor].resource
    ]


def _beside(queue: QueueSpec, device: QuotaSpec) -> tuple[QuotaSpec, ...]:
    return tuple(
        line
        for line in queue.quotas
        if line.flavor == device.flavor and line.resource in (CPU, MEMORY)
    )
