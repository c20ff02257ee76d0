"""What a tenant's jobs have lost with their places in a month, by cause."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from costs.api.money_shapes import MONEY, amount
from costs.api.months import month_of
from costs.api.shapes import Generated
from costs.selectors.generated import generated
from costs.selectors.lost import LostMonth, Worth, lost_month
from costs.selectors.pricing import book_of
from kube.evictions import Cause
from portal.web.api import ReadView
from queues.api import describe
from queues.api.answers import at_once
from queues.api.shapes import Answer
from tenants import access

_PERHAPS = extend_schema_field({"type": ["string", "null"]})


class LostSums(Serializer[Any]):
    """Evictions, the work that they have destroyed, and what of it is given back."""

    evictions = serializers.IntegerField()
    lost_resource_seconds = serializers.IntegerField(
        source="lost", help_text="Since the last checkpoint that was known, or since the start."
    )
    given_back_resource_seconds = serializers.IntegerField(
        source="worth.back", help_text="What of it the policy has given back."
    )
    worth = serializers.SerializerMethodField(
        help_text=f"At the list price of each eviction's hour. {MONEY} Null: a part has no price, "
        "or the viewer sees no money."
    )
    given_back = serializers.SerializerMethodField(help_text=f"{MONEY} Null as above.")

    @_PERHAPS
    def get_worth(self, row: dict[str, Any]) -> str | None:
        """Give what the lost work is worth."""
        worth: Worth = row["worth"]
        return _money(row, worth.amount)

    @_PERHAPS
    def get_given_back(self, row: dict[str, Any]) -> str | None:
        """Give what is given back."""
        worth: Worth = row["worth"]
        return _money(row, worth.credit)


def _money(row: dict[str, Any], value: Any) -> str | None:
    return amount(value, row["currency"]) if row["currency"] and value is not None else None


class LostCause(LostSums):
    """One cause."""

    cause = serializers.ChoiceField(choices=[each.value for each in Cause])


class LostAnswer(Generated, Answer):
    """The lost work of a tenant in a month of UTC, in all its pools, the costliest cause first."""

    tenant = serializers.CharField()
    month = serializers.CharField(help_text="Month of UTC, as 2026-11.")
    book = serializers.CharField(
        allow_null=True, help_text="The price book whose prices and policies count; null: none."
    )
    currency = serializers.CharField(allow_null=True)
    whole = LostSums()
    causes = LostCause(many=True)


class Lost(ReadView):
    """What a tenant has lost in a month."""

    @describe.one("get_tenant_lost", "costs", LostAnswer, guarded=True)
    def get(self, request: Request, slug: str, month: str) -> Response:
        """Give the lost work by cause, what it is worth, and what of it is given back."""
        row = access.tenant(request.user, slug, "tenant.numbers")
        wanted = month_of(month)
        book = book_of(wanted)
        sees = book is not None and access.can(request.user, "tenant.costs", row)
        money = book.prices.currency if book and sees else None
        found = lost_month(row, wanted, 0, book)
        facts = {
            **at_once(), "tenant": slug, "month": month, "book": book.name if book else None,
            "generated": generated().within(wanted.span),
            "currency": money, "whole": _sums(found, money),
            "causes": [
                {"cause": each.cause, "evictions": each.evictions, "lost": each.lost,
                 "worth": each.worth, "currency": money}
                for each in found.causes
            ],
        }  # fmt: skip
        return self.answer(LostAnswer, facts)


def _sums(found: LostMonth, money: str | None) -> dict[str, Any]:
    return {
        "evictions": found.evictions, "lost": found.lost, "worth": found.whole, "currency": money
    }  # fmt: skip
