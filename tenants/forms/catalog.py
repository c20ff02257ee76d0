"""Proposing a change of the catalog: one form for each kind of thing.

A form turns into edits (``kube.edits``); it never writes a row. Which values go together is
said by ``kube.rules`` when the request is submitted, and comes back to the fields by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from kube import names
from kube.catalog import (
    Catalog,
    DeviceKind,
    FlavorSpec,
    PrioritySpec,
    PurchaseClass,
    TenantSpec,
    TopologySpec,
)
from kube.edits import Edit, PutFlavor, PutPriority, PutTenant, PutTopology
from portal.web.forms import field_of
from tenants.forms.fields import (
    CpuField,
    DevicesField,
    LineField,
    LongField,
    MemoryField,
    PickField,
    SlugField,
    StrictField,
    StrictForm,
    WholeField,
)
from tenants.forms.lines import (
    LinesField,
    choices_of,
    read_label,
    read_taint,
    read_toleration,
    show_label,
    show_taint,
    show_toleration,
)

S = TypeVar("S")

DEVICE_KINDS: Mapping[DeviceKind, Any] = {
    DeviceKind.WHOLE: _("whole devices"),
    DeviceKind.MIG: _("MIG slices"),
    DeviceKind.SHARED: _("shared devices"),
}
PURCHASES: Mapping[PurchaseClass, Any] = {
    PurchaseClass.OWNED: _("owned"),
    PurchaseClass.RESERVED: _("reserved"),
    PurchaseClass.ON_DEMAND: _("on demand"),
    PurchaseClass.SPOT: _("spot"),
}


def words(choices: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Return an enumeration with its words as choices."""
    return [(each.value, word) for each, word in choices.items()]


class ProposalForm(StrictForm, Generic[S]):
    """A change of one thing, or a new one when ``spec`` is None."""

    #: The field that names the thing; it is fixed once the thing exists.
    key: ClassVar[str] = "name"

    def __init__(self, *args: Any, catalog: Catalog, spec: S | None = None, **kwargs: Any) -> None:
        self.catalog = catalog
        self.spec = spec
        given = kwargs.pop("initial", None) or {}
        kwargs["initial"] = {**given, **self.initial_of(spec)} if spec is not None else given
        super().__init__(*args, **kwargs)
        self.fields["reason"] = LongField(
            label=_("Reason"), help_text=_("Those who decide read this."), rows=3
        )
        if spec is not None:
            self.fields.pop(self.key, None)
        self.prepare()

    #: Titles and the fields below each, for the page; what is in none comes under the first.
    parts: ClassVar[tuple[tuple[Any, tuple[str, ...]], ...]] = ()

    def prepare(self) -> None:
        """Fill in choices that depend on the catalog."""

    @property
    def groups(self) -> list[tuple[Any, list[BoundField]]]:
        """Return the fields under their titles, for a template."""
        plain = [field.name for field in self if "/" not in field.name and field.name != "reason"]
        later = {name for _title, names_ in self.parts for name in names_}
        first = (_("What it is"), [name for name in plain if name not in later])
        groups = [
            first,
            *((title, [n for n in names_ if n in plain]) for title, names_ in self.parts),
        ]
        return [(title, [self[name] for name in found]) for title, found in groups if found]

    def initial_of(self, spec: S) -> dict[str, Any]:
        """Return the values of a thing that exists."""
        return {name: getattr(spec, name) for name in self.base_fields if hasattr(spec, name)}

    def values(self) -> dict[str, Any]:
        """Return the values for the new state of the thing."""
        kept = {self.key: getattr(self.spec, self.key)} if self.spec is not None else {}
        return {**kept, **{k: v for k, v in self.cleaned_data.items() if k != "reason"}}

    def edits(self) -> tuple[Edit, ...]:
        """Return the change as edits."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        """Refuse a new thing that would silently replace one with the same name."""
        values = super().clean() or self.cleaned_data
        if self.spec is None and values.get(self.key) in self.taken():
            self.add_error(self.key, _("There is one with this name already."))
        return values

    def taken(self) -> set[str]:
        """Return the names that exist."""
        return set()


class TopologyForm(ProposalForm[TopologySpec]):
    """Levels of the machine room, from the widest to the narrowest."""

    name = StrictField(label=_("Name"), read=names.subdomain)
    levels = LinesField(
        label=_("Levels"),
        item=names.label_key,
        show=str,
        required=True,
        rows=5,
        help_text=_("One node label on each line, the widest first; hostname only as the last."),
    )

    def taken(self) -> set[str]:
        """Return the names that exist."""
        return {each.name for each in self.catalog.topologies}

    def edits(self) -> tuple[Edit, ...]:
        """Return the change as edits."""
        return (PutTopology(topology=TopologySpec(**self.values())),)


class FlavorForm(ProposalForm[FlavorSpec]):
    """A kind of machine, as people choose it."""

    parts = (
        (_("Size"), ("cpu_per_device", "memory_per_device", "capacity")),
        (_("Place"), ("interconnect", "region", "zone", "rack", "power_domain")),
        (_("Which nodes"), ("topology", "node_labels", "taints", "tolerations")),
    )

    name = StrictField(label=_("Name"), read=names.subdomain)
    capability = LineField(
        label=_("Capability class"), help_text=_("What people choose by, for example a100-80gb.")
    )
    model = LineField(label=_("Model"), required=False)
    resource = StrictField(
        label=_("Device resource"),
        required=False,
        read=names.device_resource,
        help_text=_("For example nvidia.com/gpu; empty for machines without devices."),
    )
    device_kind = PickField(label=_("Kind of device"), choices=words(DEVICE_KINDS))
    mig_profile = StrictField(label=_("MIG profile"), required=False, read=names.display_text)
    purchase = PickField(label=_("Purchase class"), choices=words(PURCHASES))
    interconnect = LineField(label=_("Interconnect"), required=False)
    region = StrictField(label=_("Region"), required=False, read=names.label_value)
    zone = StrictField(label=_("Zone"), required=False, read=names.label_value)
    rack = StrictField(label=_("Rack"), required=False, read=names.label_value)
    power_domain = StrictField(label=_("Power domain"), required=False, read=names.label_value)
    node_labels = LinesField(
        label=_("Node labels"),
        item=read_label,
        show=show_label,
        help_text=_("key=value, one on each line: which nodes belong to the flavor."),
    )
    taints = LinesField(
        label=_("Taints"),
        item=read_taint,
        show=show_taint,
        help_text=_("key=value:NoSchedule, one on each line."),
    )
    tolerations = LinesField(
        label=_("Tolerations"),
        item=read_toleration,
        show=show_toleration,
        help_text=_("key=value:Effect, or key:Effect for any value; “300s” behind NoExecute."),
    )
    topology = PickField(label=_("Topology"), required=False)
    cpu_per_device = CpuField(
        label=_("CPUs for one device"), required=False, help_text=_("For example 8 or 500m.")
    )
    memory_per_device = MemoryField(
        label=_("Memory for one device"), required=False, help_text=_("For example 64Gi.")
    )
    capacity = DevicesField(
        label=_("Agreed capacity"),
        required=False,
        help_text=_("Devices in the pool; empty where only the nodes tell."),
    )

    def prepare(self) -> None:
        """Offer the topologies that exist."""
        known = [each.name for each in self.catalog.topologies]
        field_of(self, "topology", PickField).choices = choices_of(known, "—")

    def taken(self) -> set[str]:
        """Return the names that exist."""
        return {each.name for each in self.catalog.flavors}

    def edits(self) -> tuple[Edit, ...]:
        """Return the change as edits."""
        values = self.values()
        values["device_kind"] = DeviceKind(values["device_kind"])
        values["purchase"] = PurchaseClass(values["purchase"])
        values["node_labels"] = tuple(sorted(values["node_labels"]))
        return (PutFlavor(flavor=FlavorSpec(**values)),)


class TenantForm(ProposalForm[TenantSpec]):
    """A team: its names and who pays."""

    key = "slug"

    slug = SlugField(label=_("Short name"), help_text=_("a-z, 0-9 and hyphens; it stays for good."))
    display_name = LineField(label=_("Display name"))
    cost_centre = LineField(label=_("Cost centre"), required=False)

    def taken(self) -> set[str]:
        """Return the names that exist."""
        return {each.slug for each in self.catalog.tenants}

    def edits(self) -> tuple[Edit, ...]:
        """Return the change as edits."""
        return (PutTenant(**self.values()),)


class PriorityForm(ProposalForm[PrioritySpec]):
    """A rank among waiting jobs, with the words of its contract."""

    name = StrictField(label=_("Name"), read=names.label)
    value = WholeField(label=_("Value"), help_text=_("Higher goes first."))
    contract = LongField(
        label=_("Contract"),
        required=False,
        help_text=_("Who may use it, and what it may stop."),
    )
    preemptions_per_day = WholeField(
        label=_("Stops in a day"),
        required=False,
        help_text=_("A job that others have stopped that often within a day needs a look."),
    )
    longest_wait_hours = WholeField(
        label=_("Longest wait (hours)"),
        required=False,
        help_text=_("A job that waits for longer than that needs a look."),
    )

    def taken(self) -> set[str]:
        """Return the names that exist."""
        return {each.name for each in self.catalog.priorities}

    def edits(self) -> tuple[Edit, ...]:
        """Return the change as edits."""
        return (PutPriority(priority=PrioritySpec(**self.values())),)
