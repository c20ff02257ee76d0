"""How often something that pages show has moved: a page asks this before it reads the rest."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster


class Generation(models.Model):
    """The generation of one thing in one cluster; triggers raise it, whoever writes the rows.

    It rises with every statement that touches rows of the thing, within the same transaction.
    A number is a time in milliseconds, so that it never comes twice, also after a restore.
    """

    class Kind(models.TextChoices):
        #: Workloads of one queue; those that reached no queue have the empty name.
        QUEUE = "queue", _("queue")
        #: Workloads of one namespace.
        NAMESPACE = "namespace", _("namespace")
        #: Observed objects of one kind, such as Node.
        OBJECTS = "objects", _("objects")

    # A row may be written by the very statement that removes the cluster's last rows.
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, related_name="+")
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    name = models.CharField(_("name"), max_length=253, blank=True)
    number = models.BigIntegerField(_("number"))

    class Meta:
        verbose_name = _("generation")
        verbose_name_plural = _("generations")
        constraints = [models.UniqueConstraint("cluster", "kind", "name", name="generation_once")]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.kind} {self.name}"
