"""Price books and policies as the plain part knows them."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

from costs import policy, rates
from costs.lost import Funder, LostRule
from costs.models import PolicyVersion, PriceVersion
from costs.models.prices import VersionState
from costs.steps import Dated
from costs.times import instant


def price_book(version: PriceVersion) -> rates.PriceBook:
    """Return all prices of a version; one query."""
    rows: dict[rates.PriceKey, list[tuple[int, Decimal | None]]] = defaultdict(list)
    for each in version.prices.all():
        key = rates.PriceKey(each.flavor, rates.Basis(each.basis), rates.Purchase(each.purchase))
        rows[key].append((instant(each.starts), each.rate))
    return rates.PriceBook(
        version.book.currency, {key: Dated(found) for key, found in rows.items()}
    )


def policies(book_id: int) -> Dated[policy.Policy]:
    """Return the policies of a book that are in use, each from its date on; one query."""
    rows = PolicyVersion.objects.filter(book=book_id, state=VersionState.ACTIVE)
    return Dated((instant(each.starts), switches(each)) for each in rows)


def switches(version: PolicyVersion) -> policy.Policy:
    """Return what a policy says."""
    return policy.Policy(
        base=policy.Base(version.base),
        borrow=Fraction(version.borrow),
        credit=version.credit,
        rest=policy.Rest(version.rest),
        shared=policy.Spread(version.shared),
        unused=policy.Spread(version.unused),
        lost=LostRule(Funder(version.lost), version.lost_minutes * 60, version.failures),
    )
