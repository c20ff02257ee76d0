"""A month as rows in the FOCUS format: one for each tenant, pool, hour and charged basis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from django.db.models import QuerySet, Sum
from django.utils.translation import gettext_lazy as _

from costs.facts import Fact, Pool, Quality
from costs.focus_columns import COLUMNS, CONDITIONAL
from costs.models import TenantHour
from costs.money import PLACES, shown
from costs.passing import charged
from costs.rates import CREDITS, Basis, NotKnown, PriceKey, Purchase, Unpriced, quantity
from costs.reason_texts import BASES
from costs.selectors import hours
from costs.selectors.generated import Generated, generated
from costs.selectors.months import Month
from costs.selectors.pricing import Book, book_of
from costs.times import HOUR, Span, instant, moment
from portal.web.errors import Refused

OWN: Final = (
    "x_Basis", "x_FlavorName", "x_ClusterName", "x_QuotaHeldQuantity", "x_UsedQuantity",
    "x_Coverage", "x_PriceVersion", "x_ReconState", "x_Generated",
)  # fmt: skip
PROVIDER: Final = "GPU quota portal"
_SUMS: Final = {
    Basis.COMMITTED: "committed", Basis.BORROWED: "borrowed", Basis.LENT_CREDIT: "lent",
}  # fmt: skip

_UNPRICED: Final = _(
    "The policy of the price book “%(book)s” charges “%(basis)s”, and for that %(flavor)s has no "
    "price at %(hour)s UTC."
)
_UNMEASURED: Final = _(
    "The policy of the price book “%(book)s” charges “%(basis)s”, and that was not measured of "
    "%(flavor)s at %(hour)s UTC."
)


class NotPriced(Refused):
    """Something that is charged has no price, or was not measured, so no file would be whole."""

    code = "GP-5501"


class NothingCharged(Refused):
    """No price book with a policy charges anything in this month."""

    code = "GP-5502"


@dataclass(frozen=True, slots=True)
class Export:
    """What a file is made of. ``names`` are the tenants' names and cost centres by their slugs."""

    cluster: str
    month: Month
    book: Book
    purchase: dict[str, Purchase]
    names: dict[str, tuple[str, str]]
    strict: bool
    told: Generated

    @property
    def head(self) -> list[str]:
        """Return the columns: all of FOCUS 1.2, or without those of what the portal has not."""
        return [name for name in COLUMNS if self.strict or name not in CONDITIONAL] + list(OWN)


def export(rows: QuerySet[TenantHour], cluster: str, month: Month, *, strict: bool) -> Export:
    """Prepare a month of stored hours.

    ``NotPriced`` or ``NothingCharged`` if no whole file can be made.
    """
    middle = sum(month.span) // 2
    book = book_of(month)
    if book is None:
        raise NothingCharged(_("No price book is in use in this month."))
    if not book.policies.at(middle):
        said = _("The price book “%(book)s” has no policy in this month, so nothing is charged.")
        raise NothingCharged(said % {"book": book.name}, details={"book": book.name})
    flavors = set(rows.values_list("flavor", flat=True).distinct())
    made = Export(
        cluster=cluster, month=month, book=book, strict=strict, told=generated(),
        purchase={each: _purchase(book, each) for each in flavors},
        names={
            slug: (name, centre)
            for slug, name, centre in rows.exclude(tenant=None).values_list(
                "tenant__slug", "tenant__display_name", "tenant__cost_centre"
            ).distinct()
        },
    )  # fmt: skip
    _refuse_gaps(made, rows)
    return made


def _purchase(book: Book, flavor: str) -> Purchase:
    found = {key.purchase for key in book.prices.rates if key.flavor == flavor}
    return found.pop() if len(found) == 1 else Purchase.ON_DEMAND


def _refuse_gaps(made: Export, rows: QuerySet[TenantHour]) -> None:
    """Look for what has no price before the first byte is sent; one query."""
    names = sorted(set(_SUMS.values()) | {"admitted", "draining", "running"})
    known = rows.exclude(quality=Quality.MISSING)
    sums: Any = known.values("hour", "flavor").annotate(**{f"s_{n}": Sum(n) for n in names})
    for row in sums:
        hour = instant(row["hour"])
        policy = made.book.policies.at(hour)
        for basis in charged(policy) if policy else ():
            has = row[f"s_{_SUMS.get(basis, 'admitted')}"]
            try:
                if has:
                    made.book.prices.rate(_key(made, row["flavor"], basis), hour)
            except Unpriced as error:
                raise _refusal(_UNPRICED, made, row["flavor"], basis, hour) from error
    if any(Basis.USED in charged(p) for p in made.book.policies.values if p):
        for fact in hours.facts(known):
            try:
                quantity(fact, Basis.USED)
            except NotKnown as error:
                flavor = fact.pool.flavor
                raise _refusal(_UNMEASURED, made, flavor, Basis.USED, fact.hour) from error


def _refusal(said: Any, made: Export, flavor: str, basis: Basis, hour: int) -> NotPriced:
    facts = {
        "basis": basis.value, "flavor": flavor, "hour": f"{moment(hour):%F %R}",
        "book": made.book.name,
    }  # fmt: skip
    return NotPriced(said % (facts | {"basis": BASES[basis]}), details=facts)


def _key(made: Export, flavor: str, basis: Basis) -> PriceKey:
    return PriceKey(flavor, basis, made.purchase.get(flavor, Purchase.ON_DEMAND))


def lines(made: Export, rows: QuerySet[TenantHour]) -> Iterator[list[Any]]:
    """Yield the rows of the file, in the order of its columns, as the hours come."""
    head = made.head
    known = rows.exclude(quality=Quality.MISSING).exclude(tenant=None)
    for fact in hours.facts(known):
        policy = made.book.policies.at(fact.hour)
        for basis in sorted(charged(policy)) if policy else ():
            seconds = Fraction(quantity(fact, basis))
            if seconds:
                found = _row(made, fact, basis, seconds)
                yield [found.get(name, "") for name in head]


def _row(made: Export, fact: Fact, basis: Basis, seconds: Fraction) -> dict[str, Any]:
    flavor = fact.pool.flavor
    hour = Span(fact.hour, fact.hour + HOUR)
    charge = made.book.prices.charge(_key(made, flavor, basis), fact.hour, seconds)
    amount = shown(charge.amount, PLACES)
    month = made.month
    name, centre = made.names.get(fact.tenant, (fact.tenant, ""))
    row: dict[str, Any] = {
        **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"), amount),
        "BillingAccountId": made.book.name, "BillingAccountName": made.book.name,
        "BillingAccountType": "Price book", "BillingCurrency": made.book.prices.currency,
        "BillingPeriodStart": _time(month.span.starts), "BillingPeriodEnd": _time(month.span.ends),
        "ChargePeriodStart": _time(hour.starts), "ChargePeriodEnd": _time(hour.ends),
        "ChargeCategory": "Credit" if basis in CREDITS else "Usage",
        "ChargeDescription": f"{basis.value} time of {flavor}", "ChargeFrequency": "Usage-Based",
        "InvoiceIssuerName": PROVIDER, "ProviderName": PROVIDER, "PublisherName": PROVIDER,
        "ResourceId": f"{made.cluster}/{flavor}/{fact.pool.resource}", "ResourceName": flavor,
        "ResourceType": "GPU pool", "ServiceCategory": "AI and Machine Learning",
        "ServiceName": "GPU quota", "ServiceSubcategory": "Machine Learning",
        "SubAccountId": fact.tenant, "SubAccountName": name, "SubAccountType": "Tenant",
        "Tags": json.dumps({"cluster": made.cluster, "cost-centre": centre}, sort_keys=True),
        "x_Basis": basis.value, "x_FlavorName": flavor, "x_ClusterName": made.cluster,
        "x_QuotaHeldQuantity": _hours(fact.held), "x_UsedQuantity": _used(fact),
        "x_Coverage": _hours(fact.coverage), "x_PriceVersion": str(made.book.version),
        "x_ReconState": fact.quality.value,
        "x_Generated": str(made.told.within(hour, [made.cluster])).lower(),
    }  # fmt: skip
    # Prices are in the currency of the bill: there is no other.
    row |= {"PricingCurrency": row["BillingCurrency"], "PricingCurrencyEffectiveCost": amount}
    if basis in CREDITS:
        return row
    return row | _quantities(made, fact.pool, basis, seconds, charge.rate)


def _quantities(
    made: Export, pool: Pool, basis: Basis, seconds: Fraction, rate: Decimal
) -> dict[str, Any]:
    """Return quantities and prices, which only use has; always with their decimal places."""
    unit = "GPU-Hours"
    sku = f"{made.cluster}/{pool.flavor}/{basis.value}"
    return {
        "ConsumedQuantity": _hours(seconds), "ConsumedUnit": unit,
        "PricingQuantity": _hours(seconds), "PricingUnit": unit, "PricingCategory": "Standard",
        "ListUnitPrice": rate, "ContractedUnitPrice": rate,
        "PricingCurrencyListUnitPrice": rate, "PricingCurrencyContractedUnitPrice": rate,
        "SkuId": sku, "SkuMeter": f"{basis.value} GPU hours", "SkuPriceId": f"{sku}/{made.book.version}",
    }  # fmt: skip


def _hours(seconds: Fraction | int) -> Decimal:
    return shown(Fraction(seconds) * Fraction(1, HOUR))


def _used(fact: Fact) -> Decimal | str:
    return _hours(fact.use.least) if fact.use and fact.use.known else ""


def _time(at: int) -> str:
    return f"{moment(at):%FT%TZ}"
