"""Reconciliations of a period, what they have found, and what tenants say against a statement.

A reconciliation is only ever added. A finding stays until it is settled: by a person with a
reason, or by a later run that does not find it any more. Those of a closed period are kept by
triggers, as its statements are.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.models.choices import names, values
from costs.models.periods import Period, Statement, StatementLine
from costs.models.prices import PriceVersion
from costs.states import Code, Kind, Unit
from tenants.models import Cluster, User
from tenants.models.states import StateRow


class Reconciliation(models.Model):
    """One run over a period: ``inputs`` and ``result`` are hashes of what it read and found.

    ``bills`` and ``policies`` are keys of rows. Amounts are in the currency of the book; without
    a bill there are none and nothing was written. ``listed`` is what the price list alone would bring in.
    ``missing`` are hours of a cluster in which nobody listened at all or that were never counted,
    ``partial`` those in which somebody listened for a part; where it is NULL, ``missing`` has both.
    """

    period = models.ForeignKey(Period, models.PROTECT, related_name="runs")
    at = models.DateTimeField(_("run"), default=timezone.now)
    actor = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    bills = models.JSONField(_("bills"), default=list)
    prices = models.ForeignKey(PriceVersion, models.PROTECT, related_name="+", null=True)
    policies = models.JSONField(_("policies"), default=list)
    method = models.CharField(_("how the bill was matched"), max_length=12, blank=True)
    inputs = models.CharField(_("inputs"), max_length=64)
    result = models.CharField(_("result"), max_length=64)
    billed = models.DecimalField(_("bill"), max_digits=18, decimal_places=4, null=True)
    tenants = models.DecimalField(_("tenants"), max_digits=18, decimal_places=4, null=True)
    platform = models.DecimalField(_("platform"), max_digits=18, decimal_places=4, null=True)
    listed = models.DecimalField(_("by the price list"), max_digits=18, decimal_places=4, null=True)
    hours = models.PositiveIntegerField(_("hours"))
    missing = models.PositiveIntegerField(_("missing hours"))
    partial = models.PositiveIntegerField(_("partly observed hours"), null=True)
    findings = models.PositiveIntegerField(_("findings"))
    written = models.BooleanField(_("statements were written"))

    class Meta:
        verbose_name = _("reconciliation")
        verbose_name_plural = _("reconciliations")
        indexes = [models.Index(fields=["period", "-at"], name="reconciliation_newest")]

    def __str__(self) -> str:
        return f"{self.period_id} {self.at:%F %R}"


class Discrepancy(models.Model):
    """What two sources say differently, until it is settled.

    ``difference``, ``whole`` and ``allowed`` are in ``unit``. ``run`` is the newest one that has
    found it; ``settled_by`` the one that did not find it any more.
    """

    period = models.ForeignKey(Period, models.PROTECT, related_name="discrepancies")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+", null=True)
    code = models.CharField(_("finding"), max_length=24, choices=names(Code))
    subject = models.CharField(_("about"), max_length=1200)
    unit = models.CharField(
        _("unit"), max_length=8, choices=names(Unit), default=Unit.SECONDS.value
    )
    difference = models.DecimalField(_("difference"), max_digits=30, decimal_places=6)
    whole = models.DecimalField(_("of"), max_digits=30, decimal_places=6)
    allowed = models.DecimalField(_("allowed"), max_digits=30, decimal_places=6, default=0)
    money = models.DecimalField(_("worth"), max_digits=18, decimal_places=4, null=True)
    facts = models.JSONField(_("facts"), default=dict)
    blocks = models.BooleanField(_("keeps the period open"))
    found_at = models.DateTimeField(_("found"), auto_now_add=True)
    run = models.ForeignKey(Reconciliation, models.PROTECT, related_name="found", null=True)
    assignee = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    resolution = models.TextField(_("resolution"), blank=True)
    resolved_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    resolved_at = models.DateTimeField(_("resolved"), null=True)
    settled_by = models.ForeignKey(Reconciliation, models.PROTECT, related_name="+", null=True)

    class Meta:
        verbose_name = _("discrepancy")
        verbose_name_plural = _("discrepancies")
        constraints = [
            models.UniqueConstraint("period", "code", "subject", name="discrepancy_once"),
            models.CheckConstraint(condition=Q(code__in=values(Code)), name="discrepancy_code"),
            models.CheckConstraint(condition=Q(unit__in=values(Unit)), name="discrepancy_unit"),
            # Settled by a person with a reason, or by a run; never by nobody.
            models.CheckConstraint(
                condition=Q(resolved_at=None, resolved_by=None, settled_by=None)
                | (Q(resolved_at__isnull=False, resolved_by__isnull=False) & ~Q(resolution=""))
                | Q(resolved_at__isnull=False, settled_by__isnull=False, resolved_by=None),
                name="discrepancy_resolved_by_somebody",
            ),
        ]
        indexes = [
            models.Index(
                "period",
                condition=Q(blocks=True, resolved_at__isnull=True),
                name="discrepancy_blocking",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}"


class PoolTolerance(models.Model):
    """How exact a pool must be, where that differs from what holds everywhere."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    flavor = models.CharField(_("flavor"), max_length=253)
    resource = models.CharField(_("resource"), max_length=317)
    kind = models.CharField(_("compared"), max_length=12, choices=names(Kind))
    relative = models.DecimalField(_("part of the whole"), max_digits=7, decimal_places=6)
    absolute = models.PositiveBigIntegerField(_("seconds at least"))
    set_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)

    class Meta:
        verbose_name = _("tolerance of a pool")
        verbose_name_plural = _("tolerances of pools")
        constraints = [
            models.UniqueConstraint(
                "cluster", "flavor", "resource", "kind", name="pool_tolerance_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=values(Kind)), name="pool_tolerance_kind"),
            models.CheckConstraint(
                condition=Q(relative__gte=0, relative__lte=1), name="pool_tolerance_is_a_part"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.flavor} {self.kind}"


class Dispute(StateRow):
    """What a tenant says against a line of its statement, and what was answered.

    The line is named by its flavor and basis: lines of a month that is not closed are written
    anew by every run. ``credit`` is what was granted, ``booked`` the line that pays it.
    """

    class State(models.TextChoices):
        OPEN = "open", _("waiting for an answer")
        ACCEPTED = "accepted", _("accepted")
        REJECTED = "rejected", _("rejected")

    TRANSITIONS = {State.OPEN: frozenset({State.ACCEPTED, State.REJECTED})}

    state = models.CharField(_("state"), max_length=16, choices=State, default=State.OPEN)
    statement = models.ForeignKey(Statement, models.PROTECT, related_name="disputes")
    flavor = models.CharField(_("flavor"), max_length=253, blank=True)
    basis = models.CharField(_("basis"), max_length=16)
    amount = models.DecimalField(_("amount of the line"), max_digits=18, decimal_places=4)
    text = models.TextField(_("what is wrong"))
    opened_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    opened_at = models.DateTimeField(_("opened"), default=timezone.now)
    answer = models.TextField(_("answer"), blank=True)
    answered_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    answered_at = models.DateTimeField(_("answered"), null=True)
    credit = models.DecimalField(_("credit"), max_digits=18, decimal_places=4, null=True)
    booked = models.ForeignKey(StatementLine, models.PROTECT, related_name="+", null=True)

    class Meta:
        verbose_name = _("dispute")
        verbose_name_plural = _("disputes")
        constraints = [
            models.UniqueConstraint(
                "statement", "flavor", "basis", condition=Q(state="open"), name="dispute_one_open"
            ),
            models.CheckConstraint(
                condition=Q(state="open", answered_at=None)
                | (Q(state="rejected", answered_at__isnull=False) & ~Q(answer=""))
                | Q(
                    state="accepted", answered_at__isnull=False, credit__gt=0,
                    booked__isnull=False,
                ),
                name="dispute_answered",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.flavor} {self.basis}"

    @property
    def tenant_id(self) -> int | None:
        """Return whose statement it is about; rights ask for it."""
        return self.statement.tenant_id
