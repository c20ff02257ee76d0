"""Jobs that can reach no queue: what is wrong with them, and who can mend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from portal.web.pages import page_if_moved
from portal.web.wording import visible
from queues import access as own
from queues.selectors import misrouted as select
from queues.selectors import pulse
from queues.selectors.freshness import JOBS
from queues.selectors.jobs import of_tenants
from queues.views.answers import oldest
from tenants import access
from tenants.models import Cluster, Tenant

Words = tuple[str | Promise, str | Promise]
#: What is wrong, and the one next step. Names in braces are the group's own.
WORDS: Final[Mapping[str, Words]] = {
    "entry_missing": (
        _("They name the entry {entry}, which does not exist in this namespace."),
        _("Send them again with the name of an entry that exists."),
    ),
    "no_queue_label": (
        _("They name no entry, so Kueue does not look at them."),
        _("Set the label kueue.x-k8s.io/queue-name to the name of an entry."),
    ),
    "entry_terminating": (
        _("Their entry {entry} is being removed."),
        _("Send them to another entry, or wait until it is made anew."),
    ),
    "entry_without_queue": (
        _("Their entry {entry} leads to no queue."),
        _("An administrator has to give the entry a queue."),
    ),
    "queue_missing": (
        _("Their entry {entry} leads to the queue {queue}, which does not exist."),
        _("An administrator has to make the queue, or lead the entry to another one."),
    ),
    "queue_terminating": (
        _("Their queue {queue} is being removed."),
        _("An administrator has to lead the entry to another queue."),
    ),
    "namespace_mismatch": (
        _("The queue {queue} takes no jobs from this namespace."),
        _("An administrator has to let the namespace in, or lead the entry to another queue."),
    ),
    "namespace_excluded": (
        _("Kueue is set up to leave this namespace alone."),
        _("Use another namespace, or let an administrator change the setup of Kueue."),
    ),
    "selector_invalid": (
        _("The queue {queue} says in a way that cannot be read which namespaces it takes."),
        _("An administrator has to correct the namespace selector of the queue."),
    ),
    "priority_class_missing": (
        _("They name the priority {priority_class}, which does not exist."),
        _("Send them again with a priority that the cluster has."),
    ),
    "priority_class_breaks_kueue": (
        _("A priority class in the cluster holds a value that Kueue cannot read."),
        _("An administrator has to remove it: until then no job with a new priority is taken."),
    ),
    "framework_off": (
        _("Kueue is not set up for this kind of job."),
        _("Use another kind of job, or let an administrator switch this one on."),
    ),
    "outside_queues": (
        _("They run without a queue: their devices are free of any quota."),
        _("Have them stopped and sent again to an entry."),
    ),
}
OTHERWISE: Final[Words] = (
    _("Kueue cannot make use of them as they are written."),
    _("Look at one of the jobs: its page says what is wrong with it."),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One group in words."""

    group: select.Group
    wrong: SafeString
    help: str | Promise

    @property
    def lists_entries(self) -> bool:
        """Say whether it helps to know the entries of the namespace."""
        return self.group.code in select.BY_NAME


def shown(group: select.Group) -> Shown:
    """Put a group into words; names are escaped and bold."""
    wrong, help_ = WORDS.get(group.code, OTHERWISE)
    names = {
        name: format_html("<b>{}</b>", visible(getattr(group, name)))
        for name in ("entry", "queue", "priority_class")
    }
    return Shown(group, format_html(escape(str(wrong)), **names), help_)


@require_safe
@login_required
def misrouted(request: HttpRequest) -> HttpResponse:
    """Show the misrouted jobs that exist for the viewer: all, or those of their own tenants."""
    sight = own.sight(request.user)
    tenant = _asked(request.GET.get("tenant", ""), sight)
    beats = _beats(access.clusters(request.user))
    draw = partial(_draw, request, sight, tenant, beats)
    moved = ([beat.quiet_stamp() for beat in beats], access.rights(request.user))
    alive = {slug: at for beat in beats for slug, at in beat.alive.items()}
    return page_if_moved(request, "queues/misrouted.html", draw, "list", moved=moved, alive=alive)


def _asked(slug: str, sight: own.Sight) -> Tenant | None:
    """Find the tenant to which the page is narrowed; what is not the viewer's narrows nothing."""
    return sight.tenants.filter(slug=slug[:40]).first() if slug and "\0" not in slug else None


def _beats(clusters: Any) -> list[pulse.Pulse]:
    rows: list[Cluster] = list(pulse.of_cluster(clusters.order_by("slug"), JOBS))
    return [pulse.read(row) for row in rows]


def _draw(
    request: HttpRequest, sight: own.Sight, tenant: Tenant | None, beats: list[pulse.Pulse]
) -> tuple[dict[str, Any], object]:
    one = None if tenant is None else of_tenants(Tenant.objects.filter(pk=tenant.pk))
    found = select.misrouted(sight.jobs if one is None else one)
    ages = oldest({pk: age for beat in beats for pk, age in beat.ages.items()})
    context: dict[str, Any] = {
        "found": found, "groups": [shown(each) for each in found.groups],
        "tenant": tenant, "all": sight.sees_all, "ages": ages,
        "alive": " ".join(slug for beat in beats for slug in beat.alive),
    }  # fmt: skip
    return context, (found, [beat.looks for beat in beats])
