"""The shapes of quantities: hours, days and months of tenants and pools."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import Serializer

from costs.facts import Quality
from queues.api.shapes import Answer, Listed

SECONDS = "Resource-seconds: devices in their own unit, times seconds. 3,600 are one GPU-hour."
_OF_PODS: Final = (
    "running_resource_seconds", "terminating_resource_seconds", "unmanaged_resource_seconds",
)  # fmt: skip
_FOUR_DAYS: Final = timedelta(days=4)
TEXT = extend_schema_field({"type": "string"})


def seconds(source: str, text: str) -> serializers.IntegerField:
    """Return a field of resource-seconds; ``null`` where no hour is known."""
    return serializers.IntegerField(source=source, allow_null=True, help_text=text)


class Pool(Serializer[Any]):
    """One kind of device of one cluster."""

    cluster = serializers.CharField(source="cluster.slug")
    flavor = serializers.CharField()
    resource = serializers.CharField(help_text="Kubernetes resource, such as nvidia.com/gpu.")


class Generated(Serializer[Any]):
    """What says whether figures were made up."""

    generated = serializers.BooleanField(
        help_text="Whether figures of this time were made up for a demo: nobody has had these devices."
    )


class Quantities(Generated, Pool):
    """What a tenant had of a pool. Resource-seconds; ``null`` where nobody watched.

    held = own + borrowed = reserved + admitted + draining.
    """

    committed_resource_seconds = seconds("committed", "Quota of the tenant's queues.")
    held_resource_seconds = seconds("held", "Own and borrowed.")
    held_least_resource_seconds = seconds("held_least", "If every bound was as late as can be.")
    held_most_resource_seconds = seconds("held_most", "If every bound was as early as can be.")
    own_resource_seconds = seconds("own", "Held within the quota.")
    borrowed_resource_seconds = seconds("borrowed", "Held above the quota.")
    lent_resource_seconds = seconds("lent", "Unused quota that others had.")
    idle_resource_seconds = seconds("idle", "Quota that nobody had.")
    overdraft_resource_seconds = seconds("overdraft", "Of borrowed: no quota covers it.")
    excess_resource_seconds = seconds("excess", "Of own: above a quota that cannot borrow.")
    reserved_resource_seconds = seconds("reserved", "Held, an admission check is open.")
    admitted_resource_seconds = seconds("admitted", "Held and admitted.")
    draining_resource_seconds = seconds("draining", "Held by jobs that are being stopped.")
    running_resource_seconds = seconds("running", "Devices of pods that ran by quota.")
    terminating_resource_seconds = seconds("terminating", "Devices of pods whose quota was gone.")
    unmanaged_resource_seconds = seconds("unmanaged", "Devices of pods without any quota.")
    used_resource_milliseconds = seconds(
        "used",
        "As the devices measured it, in thousandths of a resource-second; null: not measured.",
    )
    seen_resource_seconds = seconds("seen", "Of what ran, the part that was measured.")
    expected_resource_seconds = seconds("expected", "What there was to be measured.")
    coverage_seconds = serializers.IntegerField(
        source="coverage", help_text="Seconds of the counted hours in which somebody listened."
    )
    pods_coverage_seconds = serializers.IntegerField(
        source="pods",
        help_text="Those in which somebody listened to pods. 0: nothing is known of what ran.",
    )
    quality = serializers.ChoiceField(
        choices=[each.value for each in Quality], help_text="The worst of the counted hours."
    )

    def to_representation(self, row: Any) -> dict[str, Any]:
        """Leave out what nobody knows: it is no number, and least of all 0."""
        row.idle = row.committed - (row.own - row.excess) - row.lent
        found: dict[str, Any] = super().to_representation(row)
        if row.quality == Quality.MISSING:
            found |= {name: None for name in found if "_resource_" in name}
        if not row.pods:
            found |= dict.fromkeys(_OF_PODS)
        return found


class Hour(Quantities):
    """One hour of UTC."""

    hour = serializers.DateTimeField(help_text="Its first moment.")


class Part(Quantities):
    """Sums of hours."""

    hours_in_all = serializers.SerializerMethodField(help_text="Hours that the time has.")
    hours_counted = serializers.IntegerField(source="hours", help_text="Hours in the sums.")
    hours_estimated = serializers.IntegerField(
        source="estimated", help_text="Of those: a bound of a phase is not exact."
    )
    hours_partial = serializers.IntegerField(
        source="partial", help_text="Of those: somebody listened to a part of the hour alone."
    )
    hours_unwatched = serializers.IntegerField(
        source="unwatched",
        help_text="Hours in which nobody listened: in no sum. A statement counts what was noted "
        "before and after them, as unwatched_resource_hours of its lines.",
    )

    @extend_schema_field({"type": "integer"})
    def get_hours_in_all(self, row: Any) -> int:
        """Say how many hours a whole day has."""
        return 24


class Day(Part):
    """One day of UTC."""

    day = serializers.DateField(source="starts")


class Month(Part):
    """One month of UTC."""

    month = serializers.SerializerMethodField(help_text="As 2026-11.")
    amounts_url = serializers.SerializerMethodField(
        help_text="Address of what it costs; null for who may not see money."
    )

    @TEXT
    def get_month(self, row: Any) -> str:
        """Name the month."""
        return f"{row.starts:%Y-%m}"

    @extend_schema_field({"type": "integer"})
    def get_hours_in_all(self, row: Any) -> int:
        """Say how many hours a month of UTC has."""
        following = (row.starts.replace(day=28) + _FOUR_DAYS).replace(day=1)
        return 24 * int((following - row.starts).days)

    @extend_schema_field({"type": ["string", "null"]})
    def get_amounts_url(self, row: Any) -> str | None:
        """Give the address."""
        if not row.money_of:
            return None
        pool = (row.cluster.slug, row.flavor, row.resource)
        return reverse("api-tenant-amounts", args=[row.money_of, f"{row.starts:%Y-%m}", *pool])


class Hours(Listed):
    """A page of hours."""

    items = Hour(many=True)


class Days(Listed):
    """A page of days."""

    items = Day(many=True)


class Months(Listed):
    """A page of months."""

    items = Month(many=True)


# --- pools ----------------------------------------------------------------------------------------


class PoolMonth(Generated, Pool):
    """Sums of the hours of a pool that somebody watched. Resource-seconds."""

    url = serializers.SerializerMethodField(help_text="Address of this month in the API.")
    month = serializers.SerializerMethodField(help_text="As 2026-11.")
    hours_counted = serializers.IntegerField(source="hours", help_text="Hours in the sums.")
    hours_unwatched = serializers.IntegerField(
        source="unwatched", help_text="Hours in which nobody listened: in no sum."
    )
    ready_resource_seconds = seconds("ready", "Devices of nodes that take pods.")
    cordoned_resource_seconds = seconds("cordoned", "Devices of nodes that take no new pods.")
    down_resource_seconds = seconds("down", "Devices of nodes that were not ready.")
    departments_resource_seconds = seconds("nominal", "Quota of departments themselves.")
    departments_borrowed_resource_seconds = seconds("borrowed", "Of it: what queues borrowed.")
    overdraft_resource_seconds = seconds("overdraft", "Held without any quota behind it.")

    @TEXT
    def get_month(self, row: Any) -> str:
        """Name the month."""
        return f"{row.starts:%Y-%m}"

    @TEXT
    def get_url(self, row: Any) -> str:
        """Give the address."""
        pool = (row.flavor, row.resource)
        return reverse("api-pool-month", args=[row.cluster.slug, f"{row.starts:%Y-%m}", *pool])

    def to_representation(self, row: Any) -> dict[str, Any]:
        """Leave out what nobody knows."""
        found: dict[str, Any] = super().to_representation(row)
        if not row.hours:
            found |= {name: None for name in found if "_resource_" in name}
        return found


class PoolMonths(Listed):
    """A page of months of pools."""

    items = PoolMonth(many=True)


class TenantShare(Serializer[Any]):
    """What one tenant had of the pool; ``null`` for what queues without a tenant had."""

    tenant = serializers.CharField(allow_null=True)
    committed_resource_seconds = serializers.IntegerField()
    held_resource_seconds = serializers.IntegerField()
    own_resource_seconds = serializers.IntegerField()
    borrowed_resource_seconds = serializers.IntegerField()
    lent_resource_seconds = serializers.IntegerField()
    idle_resource_seconds = serializers.IntegerField()
    used_resource_milliseconds = serializers.IntegerField(allow_null=True)
    seen_resource_seconds = serializers.IntegerField(allow_null=True)
    expected_resource_seconds = serializers.IntegerField(allow_null=True)


class Step(Serializer[Any]):
    """One row of the waterfall, from the top down."""

    row = serializers.CharField()
    resource_milliseconds = serializers.IntegerField(
        help_text="Thousandths of a resource-second; all rows together are the whole."
    )


class Fall(Serializer[Any]):
    """Where the time of all devices went, of the hours in which everything fits.

    The row *unwatched* are all devices of hours that nobody watched or counted.
    """

    hours = serializers.IntegerField()
    hours_over_capacity = serializers.IntegerField(
        help_text="Hours in which more was taken than there is; they are in no row."
    )
    whole_resource_milliseconds = serializers.IntegerField()
    rows = Step(many=True)


class PoolAnswer(Generated, Answer):
    """One month of one pool."""

    cluster = serializers.CharField()
    flavor = serializers.CharField()
    resource = serializers.CharField()
    month = serializers.CharField(help_text="Month of UTC, as 2026-11.")
    hours_counted = serializers.IntegerField(help_text="Hours in the sums.")
    hours_missing = serializers.IntegerField(
        help_text="Hours that nobody watched or counted: in no sum."
    )
    ready_resource_seconds = serializers.IntegerField()
    cordoned_resource_seconds = serializers.IntegerField()
    down_resource_seconds = serializers.IntegerField()
    committed_resource_seconds = serializers.IntegerField()
    departments_resource_seconds = serializers.IntegerField()
    unsold_resource_seconds = serializers.IntegerField(
        help_text="Ready and promised to nobody; below 0 more is promised than is ready."
    )
    tenants = TenantShare(many=True)
    waterfall = Fall()
