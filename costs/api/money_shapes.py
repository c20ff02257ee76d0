"""The shapes of amounts and statements. Money is text with the decimal places of its currency."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import Serializer

from costs import models
from costs.api.months import named
from costs.api.shapes import Generated
from costs.models import Period
from costs.models.prices import Purpose
from costs.money import rounded
from costs.used import MILLI
from queues.api.fields import Maybe
from queues.api.shapes import Answer, Listed

MONEY = "In the currency, with its decimal places."
TEXT = extend_schema_field({"type": "string"})
PERHAPS = extend_schema_field({"type": ["string", "null"]})


def amount(value: Fraction | Decimal, currency: str) -> str:
    """Return an amount as text, with the decimal places of its currency."""
    return str(rounded(value, currency))


def rate(value: Decimal) -> str:
    """Return a rate as plain text, without zeros at its end."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# --- by price list --------------------------------------------------------------------------------


class AmountLine(Serializer[Any]):
    """One basis. Bases overlap, so only what is charged may be added up."""

    basis = serializers.CharField(
        source="line.basis",
        help_text="What it is for: a basis of prices, rest, shared, unused, unmanaged; lost_credit "
        "is lost work that was given back, lost_work the same with the tenant that gives it.",
    )
    resource_milliseconds = serializers.SerializerMethodField(
        help_text="Thousandths of a resource-second; null: not measured in any hour."
    )
    rates = serializers.SerializerMethodField(help_text="The rates that held, per resource-hour.")
    amount = serializers.SerializerMethodField(
        help_text=f"{MONEY} Of the hours that have a price and a measurement; null: of none."
    )
    charged = serializers.SerializerMethodField(
        help_text=f"What the policy makes the tenant pay of it. {MONEY} Null: nothing of it."
    )
    unpriced_resource_milliseconds = serializers.SerializerMethodField(
        help_text="What has no price: it is in no amount."
    )
    hours_not_measured = serializers.IntegerField(source="line.unknown")

    @extend_schema_field({"type": ["integer", "null"]})
    def get_resource_milliseconds(self, row: Any) -> int | None:
        """Give the quantity."""
        line = row["line"]
        return round(line.seconds * MILLI) if line.seconds or not line.unknown else None

    @extend_schema_field({"type": "array", "items": {"type": "string"}})
    def get_rates(self, row: Any) -> list[str]:
        """Give the rates, the lowest first."""
        return [rate(each) for each in sorted(row["line"].rates)]

    @PERHAPS
    def get_amount(self, row: Any) -> str | None:
        """Give what the whole quantity would cost."""
        line = row["line"]
        return amount(line.amount, self._currency(row)) if line.priced else None

    @PERHAPS
    def get_charged(self, row: Any) -> str | None:
        """Give what is charged; rounded so that the lines are the sum, where there is one."""
        line, settled = row["line"], row["settled"]
        if line.charged is None or not line.priced:
            return None
        return amount(line.charged if settled is None else settled, self._currency(row))

    @extend_schema_field({"type": "integer"})
    def get_unpriced_resource_milliseconds(self, row: Any) -> int:
        """Give what has no price."""
        found: int = round(row["line"].unpriced * MILLI)
        return found

    def _currency(self, row: Any) -> str:
        return str(row["of"].book.prices.currency)


class BookAmounts(Serializer[Any]):
    """The amounts by one price book."""

    book = serializers.CharField()
    purpose = serializers.ChoiceField(choices=Purpose.values)
    version = serializers.IntegerField(help_text="Number of the version of its prices.")
    currency = serializers.CharField()
    due = serializers.SerializerMethodField(
        help_text=f"What is charged of the counted hours. {MONEY} "
        "Null: no policy holds, or what it charges has no price or was not measured."
    )
    lines = AmountLine(many=True)

    @PERHAPS
    def get_due(self, row: Any) -> str | None:
        """Give the sum."""
        return None if row["due"] is None else amount(row["due"], row["currency"])


class Amounts(Generated, Answer):
    """What a month costs a tenant in one pool, as far as its hours are known."""

    tenant = serializers.CharField()
    month = serializers.CharField(help_text="Month of UTC, as 2026-11.")
    cluster = serializers.CharField()
    flavor = serializers.CharField()
    resource = serializers.CharField()
    hours_counted = serializers.IntegerField(help_text="Hours in the amounts.")
    books = BookAmounts(many=True)


# --- statements -----------------------------------------------------------------------------------


class Statement(Generated):
    """What a tenant owes for a period."""

    url = serializers.SerializerMethodField(help_text="Address of this statement in the API.")
    tenant = serializers.CharField(source="tenant.slug")
    payer = serializers.CharField(source="payer_name", help_text="Name that the tenant had then.")
    book = serializers.CharField(source="period.book.name")
    month = serializers.SerializerMethodField(help_text="In the zone of the period, as 2026-11.")
    starts = serializers.DateTimeField(source="period.starts")
    ends = serializers.DateTimeField(source="period.ends")
    zone = serializers.CharField(source="period.zone")
    state = serializers.ChoiceField(source="period.state", choices=Period.State.choices)
    currency = serializers.CharField(source="period.book.currency")
    total = serializers.SerializerMethodField(help_text=MONEY)
    sha256 = serializers.CharField(help_text="Hash of its lines.")

    @TEXT
    def get_url(self, row: Any) -> str:
        """Give the address."""
        args = [row.tenant.slug, named(row.period), row.period.book.name]
        return reverse("api-tenant-statement", args=args)

    @TEXT
    def get_month(self, row: Any) -> str:
        """Name the month."""
        return named(row.period)

    @TEXT
    def get_total(self, row: Any) -> str:
        """Give the total."""
        return amount(row.total, row.period.book.currency)


class Statements(Listed):
    """A page of statements."""

    items = Statement(many=True)


class Line(NamedTuple):
    """A line with the currency of its statement."""

    line: models.StatementLine
    currency: str


class StatementLine(Serializer[Any]):
    """One line. ``corrects`` is the closed month that it was booked for."""

    flavor = Maybe(source="line.flavor")
    basis = serializers.CharField(
        source="line.basis",
        help_text="What it is for: a basis of prices, rest, shared, unused, unmanaged; lost_credit "
        "is lost work that was given back, lost_work the same with the tenant that gives it.",
    )
    resource_hours = serializers.DecimalField(
        source="line.quantity", max_digits=20, decimal_places=6, coerce_to_string=True
    )
    unwatched_resource_hours = serializers.DecimalField(
        source="line.unwatched", max_digits=20, decimal_places=6, coerce_to_string=True,
        allow_null=True,
        help_text="Of resource_hours: those of hours in which nobody listened, an estimate. The "
        "sums of months and pools leave them out. Null: not kept.",
    )  # fmt: skip
    rate = serializers.SerializerMethodField(help_text="Per resource-hour; null: none.")
    amount = serializers.SerializerMethodField(help_text=MONEY)
    corrects = serializers.SerializerMethodField()
    reason = Maybe(source="line.reason")
    bill = serializers.SerializerMethodField(
        help_text="Hash of the bill because of which it was booked; null: none."
    )

    @PERHAPS
    def get_rate(self, row: Line) -> str | None:
        """Give the rate."""
        return None if row.line.rate is None else rate(row.line.rate)

    @TEXT
    def get_amount(self, row: Line) -> str:
        """Give the amount."""
        return amount(row.line.amount, row.currency)

    @PERHAPS
    def get_bill(self, row: Line) -> str | None:
        """Give the hash of the file."""
        return row.line.bill.sha256 if row.line.bill else None

    @PERHAPS
    def get_corrects(self, row: Line) -> str | None:
        """Name the month."""
        return named(row.line.corrects) if row.line.corrects else None


class LaterLine(StatementLine):
    """A line of a later statement."""

    booked_in = serializers.SerializerMethodField(help_text="Month of that statement.")

    @TEXT
    def get_booked_in(self, row: Line) -> str:
        """Name the month."""
        return named(row.line.statement.period)


class StatementAnswer(Answer):
    """One statement with its lines, and what was booked later because of it."""

    statement = Statement()
    lines = StatementLine(many=True)
    booked_later = LaterLine(many=True)
    restated_total = serializers.CharField(
        help_text=f"Its own lines and all that was booked later because of it. {MONEY}"
    )
