"""Idle devices and quota: what was found, and the way from a question to a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from costs.models import Case
from costs.selectors import cases as select
from costs.selectors.generated import Generated, generated
from costs.selectors.idle import week_known
from costs.sentences import about, rule, title
from costs.services import cases as service
from costs.tasks import tell_owners
from costs.times import instant
from costs.views import files, idle_jobs, sections, shown
from costs.views.words import hours, hours_text
from portal.web.errors import DomainError
from portal.web.pages import page
from portal.web.parts import Step
from portal.web.wording import gpus, number
from tenants import access
from tenants.models import Cluster, User

HEAD: Final = (
    "case", "state", "kind", "tenant", "cluster", "queue", "namespace", "workload", "flavor",
    "resource", "devices", "quota", "since", "seen_at", "idle_h", "answer", files.GENERATED,
)  # fmt: skip
LOOKS: Final = {
    Case.State.OPEN: "amber", Case.State.ASKED: "planned", Case.State.JUSTIFIED: "succeeded",
    Case.State.TAKE_BACK: "applying", Case.State.CLOSED: "withdrawn",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One case of a list."""

    case: Case
    title: str
    about: str
    look: str
    state: str
    idle: str
    url: str


class Move(NamedTuple):
    """A button of a case: where it goes, what it says; ``text`` asks for words first."""

    url: str
    label: str
    text: str = ""
    second: bool = False


@require_safe
@login_required
def tenant(request: HttpRequest, slug: str) -> HttpResponse:
    """List the cases of a tenant."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    found = select.of_tenant(row.pk)
    clusters = Cluster.objects.filter(queues__tenant=row).values_list("pk", flat=True).distinct()
    context = {
        "tenant": row, "sections": sections.of_tenant(request, row, "tenant-idle"),
        **_lists(found, clusters), "csv": reverse("tenant-idle-csv", args=[slug]),
        "jobs": idle_jobs.of_tenant(row) if access.can(request.user, "tenant.jobs", row) else [],
        "crumbs": [{"label": str(row), "url": reverse("tenant", args=[slug])}],
    }  # fmt: skip
    return page(request, "costs/cases.html", context)


@require_safe
@login_required
def tenant_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the list as a file."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    names = access.can(request.user, "tenant.jobs", row)
    found = select.of_tenant(row.pk)
    return files.response(["idle", slug], HEAD, _cells(found, generated(), names=names))


@require_safe
@login_required
def cluster(request: HttpRequest, slug: str) -> HttpResponse:
    """List the open cases of all tenants of a cluster."""
    row = access.cluster(request.user, slug, "cluster.details")
    found = select.of_cluster(row.pk)
    context = {
        "cluster": row, "sections": sections.of_cluster(slug, "cluster-idle"), **_lists(found, [row.pk]),
        "crumbs": [
            {"label": _("Clusters"), "url": reverse("clusters")},
            {"label": str(row), "url": reverse("cluster", args=[slug])},
        ],
    }  # fmt: skip
    return page(request, "costs/cases.html", context)


def _lists(found: list[Case], clusters: Iterable[int]) -> dict[str, Any]:
    lines = [_line(each) for each in found]
    still = [line for line in lines if line.case.state != Case.State.CLOSED]
    return {
        "open": still, "known": bool(still) or week_known(clusters, timezone.now()),
        "closed": [line for line in lines if line.case.state == Case.State.CLOSED],
        "figures": [
            shown.Figure("devices", str(label), number(sum(x.case.devices for x in still if x.case.kind == kind)), note)
            for kind, label, note in (
                (Case.Kind.UNHELD, _("Quota not held"), _("GPUs in no moment of seven days")),
                (Case.Kind.NOT_RUNNING, _("Not running"), _("GPUs held for more than an hour")),
                (Case.Kind.NOT_USED, _("Not used"), _("GPUs active for less than 1 %")),
            )
        ] if still else [],
    }  # fmt: skip


def _line(case: Case) -> Line:
    return Line(
        case=case, title=title(case), about=about(case, names=False), look=LOOKS[Case.State(case.state)],
        state=case.get_state_display(), idle=hours_text(idle_seconds(case)),
        url=reverse("case", args=[case.tenant.slug, case.pk]),
    )  # fmt: skip


def idle_seconds(case: Case) -> int:
    """Return the device-seconds since a case began; by its last sighting, not longer."""
    end = min(case.seen_at, case.closed_at or case.seen_at)
    return case.devices * max(0, instant(end) - instant(case.since))


def _cells(found: list[Case], told: Generated, *, names: bool) -> Iterator[list[files.Cell]]:
    for each in found:
        job = [each.namespace, each.workload] if names else ["", ""]
        times = [f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (each.since, each.seen_at)]
        yield [
            each.pk, each.state, each.kind, each.tenant.slug, each.cluster.slug, each.queue, *job,
            each.flavor, each.resource, each.devices, each.nominal, *times,
            hours(idle_seconds(each)), each.answer,
            files.flag(made=told.between(each.since, each.seen_at, [each.cluster_id])),
        ]  # fmt: skip


def _fetch(request: HttpRequest, slug: str, pk: int, to: str = "tenant.numbers") -> Case:
    """Return a case of a tenant, or raise a 404, or a 403 without the right."""
    row = access.tenant(request.user, slug)
    found = select.cases().filter(tenant=row, pk=pk).select_related("taken_by", "closed_by").first()
    if found is None:
        raise access.Hidden("case", pk)
    access.require(request.user, to, found)
    return found


@require_safe
@login_required
def case(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show a case with what can be done."""
    return _show(request, _fetch(request, slug, pk))


def _show(
    request: HttpRequest, found: Case, refusal: DomainError | None = None, step: str = ""
) -> HttpResponse:
    row = found.tenant
    names = access.can(request.user, "tenant.jobs", row)
    context = {
        "tenant": row, "case": found, "title": title(found), "about": about(found, names=names),
        "rule": rule(found), "look": LOOKS[Case.State(found.state)],
        "steps": _steps(found),
        "moves": _moves(request, found), "ask_for": _ask_for(request, found),
        "job": reverse("job", args=[found.cluster.slug, found.namespace, found.workload]) if names and found.workload else "",
        "idle": hours_text(idle_seconds(found)), "jobs": idle_jobs.of_case(found) if names else None,
        "refusal": refusal, "step": step, "typed": request.POST.get("text", ""),
        "sections": sections.of_tenant(request, row, "tenant-idle"),
        "crumbs": [
            {"label": str(row), "url": reverse("tenant", args=[row.slug])},
            {"label": _("Idle"), "url": reverse("tenant-idle", args=[row.slug])},
        ],
    }  # fmt: skip
    return page(request, "costs/case.html", context, status=refusal.status if refusal else 200)


def _steps(found: Case) -> list[Step]:
    """Return the way of a case with persons and times."""

    def step(label: str, person: User | None, at: datetime | None, note: str = "") -> Step:
        return Step(label, "done" if at else "todo", str(person or ""), at, note)

    done = [
        step(_("Found"), None, found.found_at),
        step(_("Owner asked"), found.asked_by, found.asked_at, _told(found)),
        step(_("Answered"), found.answered_by, found.answered_at),
    ]
    if found.taken_at:
        done.append(step(_("To be taken back"), found.taken_by, found.taken_at))
    note = "" if found.closed_by or not found.closed_at else _("over by itself")
    return [*done, step(_("Closed"), found.closed_by, found.closed_at, note)]


def _told(found: Case) -> str:
    """Say whether the question went out by mail."""
    if not found.told_at:
        return ""
    sentence = ngettext("by mail to %(n)d person", "by mail to %(n)d people", found.told_to)
    return sentence % {"n": found.told_to} if found.told_to else _("nobody has a mail address")


def _moves(request: HttpRequest, found: Case) -> list[Move]:
    """Return what the viewer may do with a case in its state."""
    key = [found.tenant.slug, found.pk]
    offered = [
        ("case.justify", Case.State.JUSTIFIED, Move(reverse("case-justify", args=key), _("Send the answer"), _("What are they kept for?"))),
        ("case.ask", Case.State.ASKED, Move(reverse("case-ask", args=key), _("Ask the owner"))),
        ("case.take_back", Case.State.TAKE_BACK, Move(reverse("case-take-back", args=key), _("Take it back: fill in a request"), second=True)),
        ("case.close", Case.State.CLOSED, Move(reverse("case-close", args=key), _("Close the case"), _("Why is it closed although it is still so?"), second=True)),
    ]  # fmt: skip
    return [
        each
        for action, to, each in offered
        if to in Case.TRANSITIONS.get(Case.State(found.state), ())
        and access.can(request.user, action, found)
        and (to != Case.State.TAKE_BACK or found.nominal is not None)
    ]


def _ask_for(request: HttpRequest, found: Case) -> str:
    """Return the address of the request that gives the quota back, number filled in."""
    may = found.state == Case.State.TAKE_BACK and access.can(
        request.user, "request.create", found.tenant
    )
    return smaller(found) if may else ""


def smaller(found: Case) -> str:
    """Return the address of the form for a smaller quota; nothing is sent before a person does."""
    if found.nominal is None:
        return ""
    left = max(0, found.nominal - found.devices)
    reason = _("Since %(day)s %(devices)s of this quota were not held (case %(case)d).") % {
        "day": f"{found.since:%Y-%m-%d}", "devices": gpus(found.devices), "case": found.pk,
    }  # fmt: skip
    query = {
        "cluster": found.cluster.slug,
        f"{found.queue}/{found.flavor}/nominal": left,
        "reason": reason,
    }
    return f"{reverse('request-new', args=[found.tenant.slug])}?{urlencode(query)}"


@require_POST
@login_required
def ask(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Ask the owner."""
    found = _fetch(request, slug, pk, "case.ask")
    said = _("The owner is asked: the tenant sees it on its pages.")
    asked = _do(request, found, lambda: service.ask(actor=_person(request), case=found), said)
    tell_owners.delay_on_commit()
    return asked


@require_POST
@login_required
def justify(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Answer what it is kept for."""
    found = _fetch(request, slug, pk, "case.justify")
    text = request.POST.get("text", "")
    send = lambda: service.justify(actor=_person(request), case=found, text=text)  # noqa: E731
    return _do(request, found, send, _("The answer is in."), "case-justify")


@require_POST
@login_required
def take_back(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Go to the request for a smaller quota, with the number filled in."""
    found = _fetch(request, slug, pk, "case.take_back")
    service.take_back(actor=_person(request), case=found)
    url = smaller(found)
    return redirect(url or reverse("case", args=[slug, pk]))


@require_POST
@login_required
def close(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Close it with a reason."""
    found = _fetch(request, slug, pk, "case.close")
    why = request.POST.get("text", "")
    send = lambda: service.close(actor=_person(request), case=found, why=why)  # noqa: E731
    return _do(request, found, send, _("The case is closed."), "case-close")


def _do(
    request: HttpRequest, found: Case, send: Callable[[], Case], said: str, step: str = ""
) -> HttpResponse:
    """Do one step; what is wrong with the words stands beside them."""
    try:
        send()
    except service.SayWhy as refusal:
        return _show(request, found, refusal, reverse(step, args=[found.tenant.slug, found.pk]))
    messages.success(request, said)
    return redirect("case", found.tenant.slug, found.pk)


def _person(request: HttpRequest) -> User:
    return cast(User, request.user)
