"""What queues, departments and nodes had, and since when: rows that are only ever added.

A row is how one object stood from ``since`` to the next row of the same object. The cluster says
of a quota or of a node only how it is now, so ``since`` is known between two looks: from
``earliest`` to ``latest``, which are empty when it is exact.
"""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from queues.models.intervals import Quality
from tenants.models import Cluster


class Noted(models.Model):
    """How one object stood from a moment on. ``removed``: from then on there was none.

    ``digest`` is what the row says as one number, 0 for one that is removed or has nothing;
    ``epoch`` is the list of its kind that it came with or after.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    name = models.CharField(_("name"), max_length=253)
    removed = models.BooleanField(_("removed"), default=False)
    since = models.DateTimeField(_("since"))
    quality = models.CharField(max_length=8, choices=Quality)
    earliest = models.DateTimeField(null=True)
    latest = models.DateTimeField(null=True)
    observed_at = models.DateTimeField(_("observed"))
    digest = models.BigIntegerField()
    epoch = models.BigIntegerField(default=0)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(earliest=None, latest=None)
                | Q(earliest__lte=F("since"), latest__gte=F("since"))
                | Q(earliest=None, latest__gte=F("since")),
                name="%(class)s_bounds",
            ),
            models.CheckConstraint(
                condition=Q(quality__in=Quality.values), name="%(class)s_quality"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.since:%F %T}"


class QuotaChange(Noted):
    """The quota of a ClusterQueue or a Cohort, and the cohort above it (``parent``).

    ``lines`` is a list of flavor, resource, nominal, borrowing_limit and lending_limit in the
    smallest unit (milli-CPU, bytes, devices); a limit of null is not set.
    """

    class Kind(models.TextChoices):
        QUEUE = "ClusterQueue", _("queue")
        COHORT = "Cohort", _("department")

    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    parent = models.CharField(_("department"), max_length=253, blank=True)
    lines = models.JSONField(_("quota"), default=list)

    class Meta(Noted.Meta):
        verbose_name = _("change of a quota")
        verbose_name_plural = _("changes of quotas")
        constraints = [
            *Noted.Meta.constraints,
            models.CheckConstraint(
                condition=Q(kind__in=["ClusterQueue", "Cohort"]), name="quotachange_kind"
            ),
        ]
        indexes = [
            models.Index("cluster", "kind", "name", "since", name="quotachange_of_one"),
            models.Index("cluster", "observed_at", name="quotachange_by_time"),
        ]


class NodeChange(Noted):
    """The devices of a node and whether they could be used.

    ``devices`` is a list of flavor, resource and amount. The flavor is empty where the labels of
    the node are those of no flavor, or of several. ``machines`` are the names under which a bill
    may know it, such as its provider id.
    """

    class State(models.TextChoices):
        READY = "ready", _("ready")
        CORDONED = "cordoned", _("cordoned")
        DOWN = "down", _("down")

    #: Every row is of this kind of object.
    kind: Final = "Node"
    state = models.CharField(_("state"), max_length=8, choices=State, blank=True)
    devices = models.JSONField(_("devices"), default=list)
    machines = models.JSONField(_("names in a bill"), default=list, db_default=[])

    class Meta(Noted.Meta):
        verbose_name = _("change of a node")
        verbose_name_plural = _("changes of nodes")
        constraints = [
            *Noted.Meta.constraints,
            models.CheckConstraint(
                condition=Q(state__in=["ready", "cordoned", "down"]) | Q(state="", removed=True),
                name="nodechange_state",
            ),
        ]
        indexes = [
            models.Index("cluster", "name", "since", name="nodechange_of_one"),
            models.Index("cluster", "observed_at", name="nodechange_by_time"),
        ]
