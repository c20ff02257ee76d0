"""Jobs with quota and without a start: checks, other clusters, places near each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Texts = tuple[str | Promise, ...]

CHECK: Final[Mapping[str, Texts]] = {
    "check_pending": (
        _("Has its quota and waits for the admission check {check}: “{message}”"),
        _("Has its quota and waits for the admission check {check}."),
        _("Has its quota and waits for an admission check."),
    ),
    "check_retry": (
        _("The admission check {check} asks for another try at {requeue_at}: “{message}”"),
        _("The admission check {check} asks for another try at {requeue_at}."),
        _("The admission check {check} asks for another try."),
        _("An admission check asks for another try."),
    ),
    "check_rejected": (
        _("The admission check {check} refused it: “{message}”"),
        _("The admission check {check} refused it."),
        _("An admission check refused it."),
    ),
    "check_failed": (_("An admission check failed."),),
    "check_not_active": (
        _("The admission check {check} is out of order."),
        _("An admission check is out of order."),
    ),
    "provisioning_eta": (
        _("New machines are ordered and due at {eta}."),
        _("New machines are ordered."),
    ),
    "provisioning_failed": (
        _("New machines could not be had; the admission check {check} tries again."),
        _("New machines could not be had; it is tried again."),
    ),
    "provisioning_refused": (_("The order for new machines cannot be written."),),
    "remote_waits": (
        _("The cluster {remote} has room for it and is about to start it."),
        _("Another cluster has room for it and is about to start it."),
    ),
    "remote_lost": (_("The cluster that had taken it is lost; another is looked for."),),
    "remote_evicted": (
        _("The cluster {remote} stopped it; it is admitted anew."),
        _("Another cluster stopped it; it is admitted anew."),
    ),
    "remote_unsupported": (_("A job of this kind cannot be sent to another cluster."),),
    "admission_pending": (_("Has its quota and is about to be admitted."),),
    "gated": (_("Is held back by {gates}."), _("Is held back on purpose.")),
    "gate_cleared": (_("Is free to go and waits for quota."),),
    "preemption_gated": (_("Needs room that others hold, but may not take it yet."),),
}

TOPOLOGY: Final[Mapping[str, Texts]] = {
    "topology_delayed": (_("Has its quota; its machines are chosen a little later."),),
    "flavor_without_topology": (
        _("Asks for machines near each other, which the flavor {flavor} cannot promise."),
        _("Asks for machines near each other, which its flavor cannot promise."),
    ),
    "flavor_only_topology": (
        _("The flavor {flavor} takes only jobs that say how near their machines must be."),
        _("Its flavor takes only jobs that say how near their machines must be."),
    ),
    "topology_level_unknown": (
        _("Asks for nearness by {level}, which the topology does not know."),
        _("Asks for a kind of nearness that the topology does not know."),
    ),
    "topology_not_cached": (_("The cluster is still reading where its machines stand."),),
    "topology_partly": (
        _(
            "There is quota, but only {fits} of {asked_parts} pods find a place near enough to each other."
        ),
        _("There is quota, but only some of its pods find a place near enough to each other."),
    ),
    "topology_no_nodes": (
        _("No machine carries the label {level}, by which nearness is told."),
        _("No machine carries the label by which nearness is told."),
    ),
    "topology_elastic": (_("A job that grows cannot ask for machines near each other."),),
    "topology_too_small": (
        _(
            "There is quota, but none of {asked_parts} pods finds a place near enough to the others."
        ),
        _("There is quota, but no place where its pods are near enough to each other."),
    ),
    "topology_invalid": (
        _("What it asks about the nearness of its machines does not fit together."),
    ),
    "node_not_replaced": (
        _("The machine {node} failed, and no other near enough can take its place."),
        _("A machine failed, and no other near enough can take its place."),
    ),
}
