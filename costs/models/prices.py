"""Price books and policies: versions that are made as drafts and never change once they count.

A price holds from its start to the start of the next one of the same key; without a rate it ends
there. So no two can overlap, and what ends is unpriced, not free. Versions that are in use are
kept from any change by triggers.
"""

from __future__ import annotations

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from costs import policy, rates
from costs.lost import Funder
from costs.models.choices import names, values
from tenants.models import User
from tenants.models.states import StateRow

#: No checkpoint is worth a longer run than a week.
LONGEST_MINUTES: Final = 7 * 24 * 60


class Purpose(models.TextChoices):
    """What the amounts of a price book are for."""

    SHOWBACK = "showback", _("showback")
    CHARGEBACK = "chargeback", _("chargeback")
    LIST = "list", _("internal list")


class VersionState(models.TextChoices):
    """Where a version stands. Only a draft can be changed."""

    DRAFT = "draft", _("draft")
    ACTIVE = "active", _("active")
    RETIRED = "retired", _("retired")


class PriceBook(models.Model):
    """Prices in one currency, for one purpose."""

    name = models.CharField(_("name"), max_length=120, unique=True)
    purpose = models.CharField(_("purpose"), max_length=12, choices=Purpose)
    currency = models.CharField(_("currency"), max_length=3)

    class Meta:
        verbose_name = _("price book")
        verbose_name_plural = _("price books")
        constraints = [
            models.CheckConstraint(
                condition=Q(currency__regex=r"^[A-Z]{3}$"), name="price_book_currency"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PriceVersion(StateRow):
    """One state of a price book; the one that is active is used for new hours."""

    TRANSITIONS = {
        VersionState.DRAFT: frozenset({VersionState.ACTIVE}),
        VersionState.ACTIVE: frozenset({VersionState.RETIRED}),
    }

    state = models.CharField(
        _("state"), max_length=16, choices=VersionState, default=VersionState.DRAFT
    )
    book = models.ForeignKey(PriceBook, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField(_("number"))
    made_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True, blank=True)
    #: Everybody who has set or removed a price in it.
    editors = ArrayField(models.BigIntegerField(), default=list, blank=True)
    approved_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True, blank=True)

    class Meta:
        verbose_name = _("version of a price book")
        verbose_name_plural = _("versions of price books")
        constraints = [
            models.UniqueConstraint("book", "number", name="price_version_once"),
            models.UniqueConstraint(
                "book", condition=Q(state="active"), name="price_version_one_active"
            ),
            models.CheckConstraint(
                condition=Q(state__in=VersionState.values), name="price_version_state"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.book} #{self.number}"

    @property
    def writers(self) -> set[int]:
        """Return who has a part in it: who began it, and who has changed a price."""
        return {*self.editors, *([self.made_by_id] if self.made_by_id else [])}


class Price(models.Model):
    """What a native unit costs for an hour on one basis, from ``starts`` on; NULL: no more."""

    price_version = models.ForeignKey(PriceVersion, models.CASCADE, related_name="prices")
    flavor = models.CharField(_("flavor"), max_length=253)
    basis = models.CharField(_("basis"), max_length=12, choices=names(rates.Basis))
    purchase = models.CharField(_("purchase"), max_length=12, choices=names(rates.Purchase))
    starts = models.DateTimeField(_("from"))
    rate = models.DecimalField(_("rate"), max_digits=20, decimal_places=10, null=True, blank=True)

    class Meta:
        verbose_name = _("price")
        verbose_name_plural = _("prices")
        constraints = [
            models.UniqueConstraint(
                "price_version", "flavor", "basis", "purchase", "starts", name="price_once"
            ),
            models.CheckConstraint(
                condition=Q(rate__isnull=True) | Q(rate__gte=0), name="price_not_negative"
            ),
            models.CheckConstraint(condition=Q(basis__in=values(rates.Basis)), name="price_basis"),
            models.CheckConstraint(
                condition=Q(purchase__in=values(rates.Purchase)), name="price_purchase"
            ),
            # An hour is the smallest fact, so a price begins with one.
            models.CheckConstraint(
                condition=Q(starts__minute=0, starts__second=0), name="price_starts_with_an_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.flavor} {self.basis}"


class ExchangeRate(models.Model):
    """What one unit of ``base`` is in ``quote`` for a month. Rows are only added."""

    month = models.DateField(_("month"))
    base = models.CharField(_("from"), max_length=3)
    quote = models.CharField(_("to"), max_length=3)
    rate = models.DecimalField(_("rate"), max_digits=20, decimal_places=10)
    source = models.CharField(_("source"), max_length=120)

    class Meta:
        verbose_name = _("exchange rate")
        verbose_name_plural = _("exchange rates")
        constraints = [
            models.UniqueConstraint("month", "base", "quote", name="exchange_rate_once"),
            models.CheckConstraint(condition=Q(rate__gt=0), name="exchange_rate_positive"),
            models.CheckConstraint(condition=Q(month__day=1), name="exchange_rate_of_a_month"),
        ]

    def __str__(self) -> str:
        return f"{self.base}/{self.quote} {self.month:%Y-%m}"


class PolicyVersion(StateRow):
    """Who pays what in a price book, from ``starts`` on; the switches of ``costs.policy``."""

    TRANSITIONS = {
        VersionState.DRAFT: frozenset({VersionState.ACTIVE}),
        VersionState.ACTIVE: frozenset({VersionState.RETIRED}),
    }

    state = models.CharField(
        _("state"), max_length=16, choices=VersionState, default=VersionState.DRAFT
    )
    book = models.ForeignKey(PriceBook, models.PROTECT, related_name="policies")
    starts = models.DateTimeField(_("from"))
    base = models.CharField(_("tenants pay"), max_length=12)
    borrow = models.DecimalField(_("part paid for borrowed time"), max_digits=5, decimal_places=4)
    credit = models.BooleanField(_("lenders are paid"), default=True)
    rest = models.CharField(_("rest of the pool"), max_length=12)
    shared = models.CharField(_("shared costs"), max_length=12)
    unused = models.CharField(_("unused commitments"), max_length=12)
    lost = models.CharField(
        _("lost work is given back by"), max_length=12, default=Funder.NOBODY.value,
        db_default=Funder.NOBODY.value,
    )  # fmt: skip
    lost_minutes = models.PositiveIntegerField(
        _("minutes of a run at most"), default=60, db_default=60
    )
    failures = models.BooleanField(
        _("the platform gives back what failures destroy"), default=False, db_default=False
    )
    made_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True, blank=True)
    approved_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True, blank=True)

    class Meta:
        verbose_name = _("policy")
        verbose_name_plural = _("policies")
        constraints = [
            models.UniqueConstraint(
                "book", "starts", condition=Q(state="active"), name="policy_one_at_a_time"
            ),
            models.CheckConstraint(condition=Q(state__in=VersionState.values), name="policy_state"),
            models.CheckConstraint(
                condition=Q(borrow__gte=0, borrow__lte=1), name="policy_borrow_is_a_part"
            ),
            models.CheckConstraint(
                condition=Q(
                    base__in=values(policy.Base),
                    rest__in=values(policy.Rest),
                    shared__in=values(policy.Spread),
                    unused__in=values(policy.Spread),
                ),
                name="policy_switches",
            ),
            models.CheckConstraint(
                condition=Q(lost__in=values(Funder), lost_minutes__lte=LONGEST_MINUTES),
                name="policy_lost_work",
            ),
            models.CheckConstraint(
                condition=Q(starts__minute=0, starts__second=0), name="policy_starts_with_an_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.book} {self.starts:%F}"
