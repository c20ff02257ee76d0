"""Billing periods and their statements.

A closed period never changes, and neither do its statements and the facts of its hours: triggers
hold that, whatever runs. What becomes known later is a line in a statement of an open period
that points to the closed one.
"""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import models
from django.db.models import F, Func, Q, Value
from django.utils.translation import gettext_lazy as _

from costs.models.bills import BillFile, BillSource
from costs.models.prices import PolicyVersion, PriceBook, PriceVersion
from tenants.models import Tenant, User
from tenants.models.states import StateRow


class Period(StateRow):
    """A billing month of a price book, on whole hours of UTC, in the zone of its bill."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        COLLECTING = "collecting", _("collecting")
        PROVISIONAL = "provisional", _("provisional")
        REVIEW = "review", _("in review")
        CLOSED = "closed", _("closed")

    TRANSITIONS = {
        State.OPEN: frozenset({State.COLLECTING}),
        State.COLLECTING: frozenset({State.PROVISIONAL}),
        State.PROVISIONAL: frozenset({State.REVIEW, State.COLLECTING}),
        State.REVIEW: frozenset({State.CLOSED, State.PROVISIONAL}),
    }

    state = models.CharField(_("state"), max_length=16, choices=State, default=State.OPEN)
    book = models.ForeignKey(PriceBook, models.PROTECT, related_name="periods")
    starts = models.DateTimeField(_("starts"))
    ends = models.DateTimeField(_("ends"))
    zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    prices = models.ForeignKey(PriceVersion, models.PROTECT, related_name="+", null=True)
    policy = models.ForeignKey(PolicyVersion, models.PROTECT, related_name="+", null=True)
    bill_total = models.DecimalField(_("bills"), max_digits=18, decimal_places=4, null=True)
    reviewed_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    closed_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    closed_at = models.DateTimeField(_("closed"), null=True)

    class Meta:
        verbose_name = _("period")
        verbose_name_plural = _("periods")
        constraints = [
            models.UniqueConstraint("book", "starts", name="period_once"),
            # No hour is charged twice. A range around the key stands for the key itself, as
            # PostgreSQL without extensions has no GiST class for numbers.
            ExclusionConstraint(
                name="period_one_at_a_time",
                expressions=[
                    (
                        Func("book", "book", Value("[]"), function="int8range"),
                        RangeOperators.OVERLAPS,
                    ),
                    (Func("starts", "ends", function="tstzrange"), RangeOperators.OVERLAPS),
                ],
            ),
            models.CheckConstraint(condition=Q(ends__gt=F("starts")), name="period_has_length"),
            models.CheckConstraint(
                condition=Q(state__in=["open", "collecting", "provisional", "review", "closed"]),
                name="period_state",
            ),
            models.CheckConstraint(
                condition=~Q(state="closed")
                | Q(
                    prices__isnull=False, policy__isnull=False, bill_total__isnull=False,
                    closed_by__isnull=False, closed_at__isnull=False,
                ),
                name="period_closed_says_by_what",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.book} {self.starts:%Y-%m}"


class PeriodBill(models.Model):
    """What a period rests on of one source: the version of its bill that was divided.

    ``amount`` is what that bill comes to in the currency of the book; those of a period add up
    to its statements without corrections. Both are NULL until statements are written, and for a
    source that was left out, which is kept so that a month says what is not in it.
    """

    period = models.ForeignKey(Period, models.PROTECT, related_name="bills")
    source = models.ForeignKey(BillSource, models.PROTECT, related_name="+")
    bill = models.ForeignKey(BillFile, models.PROTECT, related_name="periods", null=True)
    amount = models.DecimalField(_("amount"), max_digits=18, decimal_places=4, null=True)
    left_out = models.BooleanField(_("left out"), default=False)

    class Meta:
        verbose_name = _("bill of a period")
        verbose_name_plural = _("bills of periods")
        constraints = [
            models.UniqueConstraint("period", "source", name="period_bill_once"),
            models.CheckConstraint(
                condition=Q(bill__isnull=True, amount__isnull=True)
                | Q(bill__isnull=False, amount__isnull=False, left_out=False),
                name="period_bill_with_amount_or_left_out",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.period_id} {self.source_id}"


class Statement(models.Model):
    """What one payer owes for a period: a tenant, or a bucket of the platform (``*idle``)."""

    period = models.ForeignKey(Period, models.PROTECT, related_name="statements")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+", null=True)
    bucket = models.CharField(_("paid by the platform"), max_length=16, blank=True)
    payer_name = models.CharField(_("name"), max_length=200)
    total = models.DecimalField(_("total"), max_digits=18, decimal_places=4)
    sha256 = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("statement")
        verbose_name_plural = _("statements")
        constraints = [
            models.UniqueConstraint(
                "period", "tenant", "bucket", name="statement_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=Q(tenant__isnull=False, bucket="")
                | Q(tenant__isnull=True, bucket__startswith="*"),
                name="statement_has_one_payer",
            ),
        ]

    def __str__(self) -> str:
        return self.payer_name


class StatementLine(models.Model):
    """One line. ``corrects`` points to the closed period because of which it was booked.

    ``bill`` is the file that said so, where a bill did. ``unwatched`` is the part of the quantity
    in hours in which nobody listened: an estimate. It is NULL where it was not kept.
    """

    statement = models.ForeignKey(Statement, models.PROTECT, related_name="lines")
    flavor = models.CharField(_("flavor"), max_length=253, blank=True)
    basis = models.CharField(_("basis"), max_length=16)
    quantity = models.DecimalField(_("quantity"), max_digits=20, decimal_places=6)
    unwatched = models.DecimalField(
        _("in hours that nobody watched"), max_digits=20, decimal_places=6, null=True
    )
    rate = models.DecimalField(_("rate"), max_digits=20, decimal_places=10, null=True)
    amount = models.DecimalField(_("amount"), max_digits=18, decimal_places=4)
    corrects = models.ForeignKey(Period, models.PROTECT, related_name="corrections", null=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    bill = models.ForeignKey(BillFile, models.PROTECT, related_name="+", null=True)
    #: That of the form that booked it: the same key twice is the same act.
    key = models.CharField(_("key"), max_length=64, blank=True, default="")

    class Meta:
        verbose_name = _("line of a statement")
        verbose_name_plural = _("lines of statements")
        constraints = [
            models.CheckConstraint(
                condition=Q(corrects__isnull=True) | ~Q(reason=""), name="correction_says_why"
            ),
        ]
        indexes = [
            models.Index(fields=["key"], name="line_key", condition=~Q(key="")),
        ]

    def __str__(self) -> str:
        return f"{self.flavor} {self.basis}"
