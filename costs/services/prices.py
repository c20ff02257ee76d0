"""Makes versions of price books and policies, and lets them count.

A draft is anybody's to change; with its activation it is fixed for good. For chargeback a second
person activates. What was active before is retired and stays readable, because closed months
were priced by it.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Max, Model
from django.utils.translation import gettext_lazy as _

from costs.models import PolicyVersion, Price, PriceBook, PriceVersion
from costs.models.prices import Purpose, VersionState
from costs.models.states import move
from costs.money import shown
from costs.policy import Policy
from costs.rates import PriceKey
from portal.web.errors import NotAllowed, Refused, Stale
from tenants import access, audit
from tenants.models import User


class SecondPerson(NotAllowed):
    """What is charged is decided by two people."""

    code = "GP-5201"


class NoPrices(Refused):
    """A version without any price would make every hour unpriced."""

    code = "GP-5202"


class NameTaken(Refused):
    """There is a price book of this name."""

    code = "GP-5203"


class NotADraft(Refused):
    """A version that counts already was to be changed."""

    code = "GP-5204"


class Overtaken(Stale):
    """A draft was to count that is older than what counts now."""

    code = "GP-5205"


def create_book(*, name: str, purpose: str, currency: str, actor: User) -> PriceBook:
    """Make a price book; it has no prices yet."""
    access.require(actor, "prices.work")
    try:
        with transaction.atomic():
            book = PriceBook.objects.create(name=name, purpose=purpose, currency=currency)
            data = {"book": name, "purpose": purpose, "currency": currency}
            audit.record("book.create", actor=actor, scope=audit.PLATFORM, obj=book, data=data)
    except IntegrityError as error:
        raise NameTaken(_("There is a price book of this name."), field="name") from error
    return book


def _may(actor: User | None) -> None:
    if actor is not None:
        access.require(actor, "prices.work")


def _record(action: str, row: Model, actor: User | None, **data: str) -> None:
    audit.record(action, actor=actor, scope=audit.PLATFORM, obj=row, data=data)


@transaction.atomic
def draft(*, book: PriceBook, actor: User | None) -> PriceVersion:
    """Begin the next version of a book, with the prices of the newest one.

    A second click gives the draft that the first one has begun, as long as nobody wrote in it.
    """
    _may(actor)
    PriceBook.objects.select_for_update().get(pk=book.pk)
    last = book.versions.order_by("-number").first()
    if last is not None and _just_begun(last, actor):
        return last
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
    _record("prices.draft", version, actor, version=str(version))
    return version


def _just_begun(version: PriceVersion, actor: User | None) -> bool:
    mine = actor is not None and version.made_by_id == actor.pk
    return mine and version.state == VersionState.DRAFT and not version.editors


@transaction.atomic
def set_price(
    *,
    version: PriceVersion,
    key: PriceKey,
    starts: datetime,
    rate: Decimal | None,
    actor: User | None = None,
) -> Price:
    """Set what a key costs from a whole hour on; ``None`` ends it there."""
    _may(actor)
    version = _draft(version)
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
    if actor is not None:
        _wrote(version, actor)
        what = f"{key.flavor} {key.basis} {key.purchase} {starts:%FT%RZ}"
        _record("prices.set", version, actor, version=str(version), price=what, rate=str(rate))
    return price


@transaction.atomic
def drop_price(*, version: PriceVersion, price: int, actor: User) -> None:
    """Take a row out of a draft."""
    access.require(actor, "prices.work")
    version = _draft(version)
    row = version.prices.filter(pk=price).first()
    if row is not None:
        _wrote(version, actor)
        what = f"{row} {row.purchase} {row.starts:%FT%RZ}"
        row.delete()
        _record("prices.set", version, actor, version=str(version), price=what, rate="removed")


def _draft(version: PriceVersion) -> PriceVersion:
    """Let one writer at a time into a draft; ``NotADraft`` if it is none any more."""
    rows = PriceVersion.objects.select_for_update(of=("self",)).select_related("book")
    found = rows.get(pk=version.pk)
    if found.state != VersionState.DRAFT:
        raise NotADraft(_("Only a draft can be changed. Begin the next version."))
    return found


def _wrote(version: PriceVersion, actor: User) -> None:
    if actor.pk not in version.editors:
        version.editors = [*version.editors, actor.pk]
        version.save(update_fields=["editors"])


@transaction.atomic
def activate(*, version: PriceVersion, actor: User) -> PriceVersion:
    """Let a draft count in place of the version before it."""
    access.require(actor, "prices.work")
    book = PriceBook.objects.select_for_update().get(pk=version.book_id)
    version = _draft(version)
    _second_person(book, version.writers, actor)
    if not version.prices.exists():
        raise NoPrices(_("This version has no prices."))
    newer = book.versions.exclude(state=VersionState.DRAFT).filter(number__gt=version.number)
    if (last := newer.order_by("-number").first()) is not None:
        sentence = _("Version %(number)d has counted since. Begin a new draft from its prices.")
        raise Overtaken(sentence % {"number": last.number})
    for each in book.versions.filter(state=VersionState.ACTIVE):
        move(each, VersionState.RETIRED)
    found = move(version, VersionState.ACTIVE, approved_by=actor)
    _record("prices.activate", found, actor, version=str(found))
    return found


@transaction.atomic
def propose_policy(
    *, book: PriceBook, starts: datetime, policy: Policy, actor: User | None
) -> PolicyVersion:
    """Begin a policy that is to hold from a whole hour on.

    Who proposes the very same twice gets the first one: it was sent again.
    """
    _may(actor)
    PriceBook.objects.select_for_update().get(pk=book.pk)
    version = PolicyVersion(
        book=book, starts=starts, base=policy.base.value, credit=policy.credit,
        borrow=shown(policy.borrow, 4),
        rest=policy.rest.value, shared=policy.shared.value, unused=policy.unused.value,
        lost=policy.lost.preempted.value, lost_minutes=policy.lost.most // 60,
        failures=policy.lost.failures, made_by=actor,
    )  # fmt: skip
    version.full_clean()
    if (same := _proposed_before(version)) is not None:
        return same
    version.save(force_insert=True)
    _record("policy.propose", version, actor, policy=str(version), **_switches(version))
    return version


_SWITCHES: Final = (
    "base", "borrow", "credit", "rest", "shared", "unused", "lost", "lost_minutes", "failures",
)  # fmt: skip


def _proposed_before(version: PolicyVersion) -> PolicyVersion | None:
    """Find the draft of the same person that says the same from the same hour on."""
    drafts = PolicyVersion.objects.filter(
        book=version.book_id, made_by=version.made_by_id, starts=version.starts,
        state=VersionState.DRAFT, **{name: getattr(version, name) for name in _SWITCHES},
    )  # fmt: skip
    return drafts.first()


def _switches(version: PolicyVersion) -> dict[str, str]:
    return {name: str(getattr(version, name)) for name in _SWITCHES}


@transaction.atomic
def activate_policy(*, version: PolicyVersion, actor: User) -> PolicyVersion:
    """Let a policy count from its date; one of the same date is retired."""
    access.require(actor, "prices.work")
    book = PriceBook.objects.select_for_update().get(pk=version.book_id)
    _second_person(book, {version.made_by_id} - {None}, actor)
    same = PolicyVersion.objects.filter(book=version.book_id, starts=version.starts)
    for each in same.filter(state=VersionState.ACTIVE):
        move(each, VersionState.RETIRED)
    found = move(version, VersionState.ACTIVE, approved_by=actor)
    _record("policy.activate", found, actor, policy=str(found), **_switches(found))
    return found


def _second_person(book: PriceBook, writers: Set[int | None], actor: User) -> None:
    """Refuse whoever has written a part of what is charged, and what nobody has written."""
    if book.purpose == Purpose.CHARGEBACK and (not writers or actor.pk in writers):
        raise SecondPerson(_("Somebody else decides on what is charged than who has written it."))
