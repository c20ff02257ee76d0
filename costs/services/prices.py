"""Makes versions of price books and policies, and lets them count.

A draft is anybody's to change; with its activation it is fixed for good. For chargeback a second
person activates. What was active before is retired and stays readable, because closed months
were priced by it.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext_lazy as _

from costs.models import PolicyVersion, Price, PriceBook, PriceVersion
from costs.models.prices import Purpose, VersionState
from costs.models.states import move
from costs.money import shown
from costs.policy import Policy
from costs.rates import PriceKey
from portal.web.errors import NotAllowed, Refused
from tenants.models import User


class SecondPerson(NotAllowed):
    """What is charged is decided by two people."""

    code = "GP-5201"


class NoPrices(Refused):
    """A version without any price would make every hour unpriced."""

    code = "GP-5202"


@transaction.atomic
def draft(*, book: PriceBook, actor: User | None) -> PriceVersion:
    """Begin the next version of a book, with the prices of the newest one."""
    PriceBook.objects.select_for_update().get(pk=book.pk)
    last = book.versions.order_by("-number").first()
    number = book.versions.aggregate(last=Max("number"))["last"] or 0
    version = PriceVersion.objects.create(book=book, number=number + 1, made_by=actor)
    if last:
        Price.objects.bulk_create(
            Price(
                price_version=version, flavor=each.flavor, basis=each.basis,
                purchase=each.purchase, starts=each.starts, rate=each.rate,
            )
            for each in last.prices.all()
        )  # fmt: skip
    return version


@transaction.atomic
def set_price(
    *, version: PriceVersion, key: PriceKey, starts: datetime, rate: Decimal | None
) -> Price:
    """Set what a key costs from a whole hour on; ``None`` ends it there."""
    price = Price(
        price_version=version, flavor=key.flavor, basis=key.basis, purchase=key.purchase,
        starts=starts, rate=rate,
    )  # fmt: skip
    price.clean_fields()
    same = version.prices.filter(
        flavor=key.flavor, basis=key.basis, purchase=key.purchase, starts=starts
    )
    same.delete()
    price.full_clean()
    price.save(force_insert=True)
    return price


@transaction.atomic
def activate(*, version: PriceVersion, actor: User) -> PriceVersion:
    """Let a draft count in place of the version before it."""
    _second_person(version.book, version.made_by_id, actor)
    if not version.prices.exists():
        raise NoPrices(_("This version has no prices."))
    for each in version.book.versions.filter(state=VersionState.ACTIVE):
        move(each, VersionState.RETIRED)
    return move(version, VersionState.ACTIVE, approved_by=actor)


@transaction.atomic
def propose_policy(
    *, book: PriceBook, starts: datetime, policy: Policy, actor: User | None
) -> PolicyVersion:
    """Begin a policy that is to hold from a whole hour on."""
    version = PolicyVersion(
        book=book, starts=starts, base=policy.base.value, credit=policy.credit,
        borrow=shown(policy.borrow, 4),
        rest=policy.rest.value, shared=policy.shared.value, unused=policy.unused.value,
        made_by=actor,
    )  # fmt: skip
    version.full_clean()
    version.save(force_insert=True)
    return version


@transaction.atomic
def activate_policy(*, version: PolicyVersion, actor: User) -> PolicyVersion:
    """Let a policy count from its date; one of the same date is retired."""
    _second_person(version.book, version.made_by_id, actor)
    same = PolicyVersion.objects.filter(book=version.book_id, starts=version.starts)
    for each in same.filter(state=VersionState.ACTIVE):
        move(each, VersionState.RETIRED)
    return move(version, VersionState.ACTIVE, approved_by=actor)


def _second_person(book: PriceBook, made_by: int | None, actor: User) -> None:
    if book.purpose == Purpose.CHARGEBACK and made_by in (None, actor.pk):
        raise SecondPerson(_("Somebody else decides on what is charged than who has written it."))
