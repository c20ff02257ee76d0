"""Bills: files as they came, their rows, and what is wrong with them.

A provider publishes a whole billing period again and again until it is final. So each file is a
version of its period; the newest one that was taken counts, and the others stay. The rows of a
file are written while it is *staged*; after that a trigger keeps them as they are.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from costs.billing import Category
from costs.models.choices import values
from tenants.models import User
from tenants.models.states import StateRow


class BillSource(models.Model):
    """Where bills come from: an account or several of one provider, in one currency.

    ``tenant_tag`` names the tag that is to say which tenant a machine is for. What a ``split``
    or a ``usage`` report says is compared with the bills, and never added to them.
    """

    class Kind(models.TextChoices):
        FOCUS = "focus", _("bill in the FOCUS format")
        OWN = "own", _("own machines: amortisation, power, staff")
        SPLIT = "split", _("AWS split cost allocation, to compare")
        USAGE = "usage", _("HyperPod usage report, to compare")

    #: Those whose money is paid.
    PAID = (Kind.FOCUS, Kind.OWN)

    kind = models.CharField(_("kind"), max_length=8, choices=Kind, default=Kind.FOCUS)
    name = models.CharField(_("name"), max_length=120, unique=True)
    currency = models.CharField(_("currency"), max_length=3)
    accounts = models.JSONField(_("accounts"), default=list, blank=True)
    tenant_tag = models.CharField(_("tag of the tenant"), max_length=120, blank=True)

    class Meta:
        verbose_name = _("source of bills")
        verbose_name_plural = _("sources of bills")
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["focus", "own", "split", "usage"]), name="bill_source_kind"
            ),
            models.CheckConstraint(
                condition=Q(currency__regex=r"^[A-Z]{3}$"), name="bill_source_currency"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BillFile(StateRow):
    """One file: a version of a billing period of a source. Amounts are those that count."""

    class State(models.TextChoices):
        STAGED = "staged", _("being read")
        ACTIVE = "active", _("counts")
        REPLACED = "replaced", _("replaced by a newer one")
        REFUSED = "refused", _("refused")

    TRANSITIONS = {
        State.STAGED: frozenset({State.ACTIVE, State.REFUSED}),
        State.ACTIVE: frozenset({State.REPLACED}),
    }

    state = models.CharField(_("state"), max_length=16, choices=State, default=State.STAGED)
    source = models.ForeignKey(BillSource, models.PROTECT, related_name="files")
    name = models.CharField(_("file"), max_length=255)
    sha256 = models.CharField(max_length=64)
    period_starts = models.DateTimeField(_("period starts"), null=True)
    period_ends = models.DateTimeField(_("period ends"), null=True)
    number = models.PositiveIntegerField(_("number"), null=True)
    finalized = models.BooleanField(_("final"), default=False)
    rows = models.PositiveBigIntegerField(_("rows"), default=0)
    errors = models.PositiveBigIntegerField(_("errors"), default=0)
    billed = models.DecimalField(_("billed"), max_digits=30, decimal_places=12, default=0)
    effective = models.DecimalField(_("effective"), max_digits=30, decimal_places=12, default=0)
    put_aside = models.DecimalField(
        _("effective, put aside"), max_digits=30, decimal_places=12, default=0
    )
    # {"parts": {category: sums}, "aside": {why: sums}}; sums are rows and amounts as texts.
    sums = models.JSONField(_("sums"), default=dict, db_default={})
    taken_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    taken_at = models.DateTimeField(_("read"), auto_now_add=True)

    class Meta:
        verbose_name = _("bill")
        verbose_name_plural = _("bills")
        constraints = [
            models.UniqueConstraint(
                "source", "sha256", condition=~Q(state="refused"), name="bill_file_once"
            ),
            models.UniqueConstraint(
                "source", "period_starts", "number", name="bill_file_version_once"
            ),
            models.UniqueConstraint(
                "source", "period_starts", condition=Q(state="active"), name="bill_file_one_active"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["staged", "active", "replaced", "refused"]),
                name="bill_file_state",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["staged", "refused"])
                | Q(errors=0, number__isnull=False, period_ends__gt=F("period_starts")),
                name="bill_file_counts_only_without_errors",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BillLine(models.Model):
    """One row of a file, as far as it decides where money goes.

    A row that is put ``aside`` is kept and not counted among those of its period.
    """

    class Aside(models.TextChoices):
        OTHER_PERIOD = "other_period", _("belongs to another billing period")
        CORRECTION = "correction", _("corrects a period that was invoiced")
        SPLIT = "split", _("a part of a row that stands in the file too")

    file = models.ForeignKey(BillFile, models.CASCADE, related_name="lines")
    row = models.PositiveBigIntegerField(_("row"))
    charge_starts = models.DateTimeField(_("from"))
    charge_ends = models.DateTimeField(_("to"))
    category = models.CharField(_("category"), max_length=12)
    charge_class = models.CharField(_("class"), max_length=24, blank=True)
    billed = models.DecimalField(_("billed"), max_digits=30, decimal_places=12)
    effective = models.DecimalField(_("effective"), max_digits=30, decimal_places=12)
    listed = models.DecimalField(_("list price"), max_digits=30, decimal_places=12, null=True)
    provider = models.CharField(_("provider"), max_length=255)
    account = models.CharField(_("account"), max_length=255)
    sub_account = models.CharField(_("sub-account"), max_length=255, blank=True)
    service = models.CharField(_("service"), max_length=255)
    region = models.CharField(_("region"), max_length=255, blank=True)
    zone = models.CharField(_("zone"), max_length=255, blank=True)
    resource_id = models.CharField(_("resource"), max_length=1024, blank=True)
    sku = models.CharField(_("SKU"), max_length=255, blank=True)
    pricing_category = models.CharField(_("pricing"), max_length=24, blank=True)
    commitment_id = models.CharField(_("commitment"), max_length=1024, blank=True)
    commitment_status = models.CharField(_("commitment is"), max_length=24, blank=True)
    consumed = models.DecimalField(_("consumed"), max_digits=30, decimal_places=12, null=True)
    unit = models.CharField(_("unit"), max_length=255, blank=True)
    gpus = models.PositiveIntegerField(_("GPUs"), null=True)
    instance_type = models.CharField(_("machine"), max_length=255, blank=True)
    invoice = models.CharField(_("invoice"), max_length=255, blank=True)
    allocated_to = models.CharField(_("allocated to"), max_length=1024, blank=True)
    tags = models.JSONField(_("tags"), default=dict, blank=True)
    aside = models.CharField(_("put aside"), max_length=12, choices=Aside, blank=True)

    class Meta:
        verbose_name = _("row of a bill")
        verbose_name_plural = _("rows of bills")
        constraints = [
            models.UniqueConstraint("file", "row", name="bill_line_once"),
            models.CheckConstraint(
                condition=Q(charge_ends__gt=F("charge_starts")), name="bill_line_has_length"
            ),
            models.CheckConstraint(
                condition=Q(category__in=values(Category)), name="bill_line_category"
            ),
        ]
        indexes = [
            models.Index("resource_id", "charge_starts", name="bill_line_by_resource"),
        ]

    def __str__(self) -> str:
        return f"{self.file_id} #{self.row}"


class BillProblem(models.Model):
    """What is wrong with a file, by row. Equal warnings of many rows are one, with their number."""

    file = models.ForeignKey(BillFile, models.CASCADE, related_name="problems")
    row = models.PositiveBigIntegerField(_("row"))
    column = models.CharField(_("column"), max_length=64, blank=True)
    code = models.CharField(_("problem"), max_length=24)
    value = models.CharField(_("value"), max_length=120, blank=True)
    error = models.BooleanField(_("error"))
    rows = models.PositiveBigIntegerField(_("rows"), default=1)

    class Meta:
        verbose_name = _("problem of a bill")
        verbose_name_plural = _("problems of bills")
        ordering = ["-error", "row"]

    def __str__(self) -> str:
        return f"{self.row} {self.code}"


class BillPart(models.Model):
    """A piece of a file that waits to be read; it is thrown away when the file was."""

    file = models.ForeignKey(BillFile, models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        verbose_name = _("piece of a file")
        verbose_name_plural = _("pieces of files")
        constraints = [models.UniqueConstraint("file", "number", name="bill_part_once")]

    def __str__(self) -> str:
        return f"{self.file_id} #{self.number}"
