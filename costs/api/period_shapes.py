"""The shapes of periods, of what was found, and of bills."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import Serializer

from costs.api.money_shapes import MONEY, PERHAPS, TEXT, amount
from costs.api.months import named
from costs.api.shapes import Generated
from costs.models import BillFile, Period
from costs.models.prices import Purpose
from costs.states import Code, Unit
from queues.api.fields import Maybe
from queues.api.shapes import Answer, Listed


class PeriodBillShape(Serializer[Any]):
    """The bill of one source in a month; of one that was left out there is no file."""

    left_out = serializers.BooleanField()
    sha256 = serializers.CharField(allow_null=True, help_text="Hash of the file.")
    final = serializers.BooleanField(allow_null=True)
    amount = serializers.CharField(
        allow_null=True, help_text="In the currency of the book; all of them are the statements."
    )

    def get_fields(self) -> dict[str, Any]:
        """Add the field that is named as an attribute of every serializer is."""
        return {"source": serializers.CharField()} | super().get_fields()


class PeriodShape(Generated):
    """A month of a price book, and by what it is priced."""

    url = serializers.SerializerMethodField(help_text="Address of this period in the API.")
    book = serializers.CharField(source="book.name")
    purpose = serializers.ChoiceField(source="book.purpose", choices=Purpose.values)
    currency = serializers.CharField(source="book.currency")
    month = serializers.SerializerMethodField(help_text="In its zone, as 2026-11.")
    starts = serializers.DateTimeField()
    ends = serializers.DateTimeField()
    zone = serializers.CharField()
    state = serializers.ChoiceField(choices=Period.State.choices)
    price_version = serializers.IntegerField(source="prices.number", allow_null=True, default=None)
    policy_starts = serializers.DateTimeField(source="policy.starts", allow_null=True, default=None)
    bill = serializers.SerializerMethodField(
        help_text="Hash of the file where the month rests on a single bill; else see bills."
    )
    bills = serializers.SerializerMethodField(help_text="The bills that the month rests on.")
    bill_total = serializers.SerializerMethodField(help_text=f"{MONEY} Null: nothing is written.")
    reviewed_by = serializers.CharField(
        source="reviewed_by.username", allow_null=True, default=None
    )
    closed_by = serializers.CharField(source="closed_by.username", allow_null=True, default=None)
    closed_at = serializers.DateTimeField(allow_null=True)

    @TEXT
    def get_url(self, row: Any) -> str:
        """Give the address."""
        return reverse("api-period", args=[named(row), row.book.name])

    @TEXT
    def get_month(self, row: Any) -> str:
        """Name the month."""
        return named(row)

    @PERHAPS
    def get_bill(self, row: Any) -> str | None:
        """Give the one bill that there is."""
        found = [each.bill.sha256 for each in row.bills.all() if each.bill is not None]
        return found[0] if len(found) == 1 else None

    @extend_schema_field(PeriodBillShape(many=True))
    def get_bills(self, row: Any) -> list[dict[str, Any]]:
        """Give the bills by the name of their source."""
        currency = row.book.currency
        return [
            {
                "source": each.source.name, "left_out": each.left_out,
                "sha256": each.bill.sha256 if each.bill else None,
                "final": each.bill.finalized if each.bill else None,
                "amount": None if each.amount is None else amount(each.amount, currency),
            }
            for each in sorted(row.bills.all(), key=lambda each: each.source.name)
        ]  # fmt: skip

    @PERHAPS
    def get_bill_total(self, row: Any) -> str | None:
        """Give the sum of all statements."""
        return None if row.bill_total is None else amount(row.bill_total, row.book.currency)


class Periods(Listed):
    """A page of periods."""

    items = PeriodShape(many=True)


class Payer(Serializer[Any]):
    """What a tenant owes, or the platform itself for a bucket such as *idle."""

    payer = serializers.CharField()
    billed = serializers.SerializerMethodField(help_text=f"{MONEY} Null: no statement.")
    restated = serializers.SerializerMethodField(
        help_text=f"With what was booked later because of this period. {MONEY}"
    )

    @PERHAPS
    def get_billed(self, row: Any) -> str | None:
        """Give the total of the statement."""
        return None if row["billed"] is None else amount(row["billed"], row["currency"])

    @PERHAPS
    def get_restated(self, row: Any) -> str | None:
        """Give the total with later corrections."""
        return None if row["restated"] is None else amount(row["restated"], row["currency"])


class PeriodAnswer(Answer):
    """One period."""

    period = PeriodShape()
    payers = Payer(many=True)


class Discrepancy(Serializer[Any]):
    """What two sources say differently, until somebody has settled it."""

    code = serializers.ChoiceField(choices=[each.value for each in Code])
    cluster = serializers.CharField(source="cluster.slug", allow_null=True, default=None)
    subject = serializers.CharField()
    counted_in = serializers.ChoiceField(
        source="unit", choices=[each.value for each in Unit],
        help_text="The unit of difference, whole and allowed.",
    )  # fmt: skip
    difference = serializers.DecimalField(max_digits=30, decimal_places=6, coerce_to_string=True)
    whole = serializers.DecimalField(max_digits=30, decimal_places=6, coerce_to_string=True)
    allowed = serializers.DecimalField(max_digits=30, decimal_places=6, coerce_to_string=True)
    worth = serializers.SerializerMethodField(help_text=f"{MONEY} Null: not known.")
    blocks = serializers.BooleanField(help_text="It keeps the period from being closed.")
    state = serializers.SerializerMethodField(
        help_text="frozen: not settled when its period was closed, and kept as it was."
    )
    found_at = serializers.DateTimeField()
    resolution = Maybe()
    resolved_by = serializers.CharField(
        source="resolved_by.username", allow_null=True, default=None
    )
    resolved_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field({"type": "string", "enum": ["open", "settled", "frozen"]})
    def get_state(self, row: Any) -> str:
        """Say whether anything is still to be done about it."""
        if row.resolved_at is not None:
            return "settled"
        return "frozen" if row.period.state == Period.State.CLOSED else "open"

    @PERHAPS
    def get_worth(self, row: Any) -> str | None:
        """Give what the difference comes to."""
        return None if row.money is None else amount(row.money, row.period.book.currency)


class Discrepancies(Listed):
    """A page of findings."""

    items = Discrepancy(many=True)


# --- bills ----------------------------------------------------------------------------------------


class Bill(Generated):
    """One file: a version of a billing period of a source. Amounts are those that count."""

    problems_url = serializers.SerializerMethodField(help_text="Address of what is wrong with it.")
    currency = serializers.CharField(source="source.currency")
    name = serializers.CharField()
    sha256 = serializers.CharField()
    state = serializers.ChoiceField(choices=BillFile.State.choices)
    number = serializers.IntegerField(allow_null=True, help_text="Which version of its period.")
    period_starts = serializers.DateTimeField(allow_null=True)
    period_ends = serializers.DateTimeField(allow_null=True)
    finalized = serializers.BooleanField()
    rows = serializers.IntegerField()
    billed = serializers.DecimalField(max_digits=30, decimal_places=12, coerce_to_string=True)
    effective = serializers.DecimalField(max_digits=30, decimal_places=12, coerce_to_string=True)
    put_aside = serializers.DecimalField(
        max_digits=30, decimal_places=12, coerce_to_string=True,
        help_text="Effective costs of rows that do not count in this period.",
    )  # fmt: skip
    taken_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, Any]:
        """Add the fields that are named as attributes of every serializer are."""
        more = {
            "source": serializers.CharField(source="source.name"),
            "errors": serializers.IntegerField(),
        }
        return super().get_fields() | more

    @extend_schema_field({"type": "string"})
    def get_problems_url(self, row: Any) -> str:
        """Give the address."""
        return reverse("api-bill-problems", args=[row.sha256, row.source.name])


class Bills(Listed):
    """A page of files."""

    items = Bill(many=True)


class BillProblem(Serializer[Any]):
    """What is wrong; equal warnings of many rows are one."""

    row = serializers.IntegerField(help_text="The first row that has it.")
    rows = serializers.IntegerField(help_text="How many rows have it.")
    column = Maybe()
    code = serializers.CharField()
    value = Maybe()
    error = serializers.BooleanField(help_text="An error refuses the file; a warning does not.")


class BillProblems(Listed):
    """A page of problems."""

    items = BillProblem(many=True)
