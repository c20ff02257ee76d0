"""Devices and quota that are kept and not used: what was found, asked, answered and decided."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster, Tenant, User
from tenants.models.states import StateRow


class Case(StateRow):
    """One thing that a tenant keeps idle; open as long as it does, or until somebody closes it.

    ``subject`` tells cases of one kind apart: a queue, a Workload's uid, a pool. ``devices`` are
    those that are idle, ``nominal`` the quota of the queue of which they are a part. ``since`` is
    from when on that is known, ``seen_at`` when it was last so. Without ``closed_by`` it was over
    by itself. ``tell_after``: the next try to tell the owner by mail what is asked; ``told_at`` is
    when that was done, ``told_to`` so many people.
    """

    class Kind(models.TextChoices):
        UNHELD = "unheld", _("quota that is not held")
        NOT_RUNNING = "not_running", _("held, but not running")
        NOT_USED = "not_used", _("running, but not used")

    class State(models.TextChoices):
        OPEN = "open", _("found")
        ASKED = "asked", _("the owner is asked")
        JUSTIFIED = "justified", _("justified")
        TAKE_BACK = "take_back", _("to be taken back")
        CLOSED = "closed", _("closed")

    TRANSITIONS: ClassVar = {
        State.OPEN: frozenset({State.ASKED, State.JUSTIFIED, State.TAKE_BACK, State.CLOSED}),
        State.ASKED: frozenset({State.JUSTIFIED, State.TAKE_BACK, State.CLOSED}),
        State.JUSTIFIED: frozenset({State.ASKED, State.TAKE_BACK, State.CLOSED}),
        State.TAKE_BACK: frozenset({State.JUSTIFIED, State.CLOSED}),
    }

    state = models.CharField(_("state"), max_length=16, choices=State, default=State.OPEN)
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="+")
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    subject = models.CharField(_("about"), max_length=253)
    queue = models.CharField(_("queue"), max_length=253, blank=True)
    namespace = models.CharField(_("namespace"), max_length=63, blank=True)
    workload = models.CharField(_("workload"), max_length=253, blank=True)
    flavor = models.CharField(_("flavor"), max_length=253)
    resource = models.CharField(_("resource"), max_length=317)
    devices = models.PositiveBigIntegerField(_("idle devices"))
    nominal = models.PositiveBigIntegerField(_("quota"), null=True)
    since = models.DateTimeField(_("since"))
    found_at = models.DateTimeField(_("found"))
    seen_at = models.DateTimeField(_("last seen"))
    asked_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    asked_at = models.DateTimeField(_("asked"), null=True)
    tell_after = models.DateTimeField(_("mail is due"), null=True)
    tell_tries = models.PositiveSmallIntegerField(_("mails tried"), default=0, db_default=0)
    told_at = models.DateTimeField(_("mail sent"), null=True)
    told_to = models.PositiveSmallIntegerField(_("mail sent to"), default=0, db_default=0)
    answer = models.TextField(_("answer"), blank=True)
    answered_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    answered_at = models.DateTimeField(_("answered"), null=True)
    taken_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    taken_at = models.DateTimeField(_("decided"), null=True)
    closed_by = models.ForeignKey(User, models.PROTECT, related_name="+", null=True)
    closed_at = models.DateTimeField(_("closed"), null=True)
    closed_why = models.CharField(_("why closed"), max_length=2000, blank=True)

    class Meta:
        verbose_name = _("case of idle devices")
        verbose_name_plural = _("cases of idle devices")
        constraints = [
            models.UniqueConstraint(
                "cluster", "kind", "subject", "flavor", "resource",
                condition=~Q(state="closed"), name="case_one_open",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "asked", "justified", "take_back", "closed"]),
                name="case_state",
            ),
            models.CheckConstraint(
                condition=Q(state="closed", closed_at__isnull=False)
                | (~Q(state="closed") & Q(closed_at__isnull=True)),
                name="case_closed_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(state="justified")
                | (Q(answered_by__isnull=False, answered_at__isnull=False) & ~Q(answer="")),
                name="case_justified_says_why",
            ),
            models.CheckConstraint(condition=Q(devices__gt=0), name="case_of_something"),
        ]  # fmt: skip
        indexes = [
            models.Index("tenant", condition=~Q(state="closed"), name="case_open_of_tenant"),
            models.Index("cluster", condition=~Q(state="closed"), name="case_open_of_cluster"),
            models.Index(
                "tell_after", condition=Q(state="asked", told_at=None), name="case_to_be_told"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
