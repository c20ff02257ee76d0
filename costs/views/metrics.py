"""Where the use of a cluster's GPUs comes from: set it, test it, see how well the hours are known."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple, cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from costs.forms.metrics import FIELDS, MetricsForm
from costs.models import MetricsSource
from costs.promql import ACTIVE
from costs.selectors.control import DAY
from costs.selectors.metrics_page import Asked, Week, source_of, week
from costs.services import metrics
from costs.states import Code, Finding
from costs.tasks import harvest
from costs.views.words import hours_text, share_text
from portal.web.errors import DomainError
from portal.web.pages import page, wants_partial
from tenants import access
from tenants.models import Cluster, User

_WORDS: Final = {
    Code.INTERVAL_GAP: gettext_lazy("Kueue says something else"),
    Code.WITHIN_TOLERANCE: gettext_lazy("As Kueue says, within tolerance"),
    Code.USED_UNKNOWN: gettext_lazy("Use is not known"),
    Code.UNATTRIBUTED_USE: gettext_lazy("Used without a pod"),
    Code.SHARED_DEVICE: gettext_lazy("Shared devices"),
}  # fmt: skip


LEGEND: Final = {
    "known": gettext_lazy("known"),
    "failed": gettext_lazy("failed"),
    "open": gettext_lazy("not asked"),
}
#: Of the picture of hours: a cell with its gap, and the space of the days' names.
CELL, LEFT, TOP = 22, 52, 20


class Cell(NamedTuple):
    """One hour in the picture."""

    x: int
    y: int
    state: str
    title: str


class Label(NamedTuple):
    """A word at the edge of the picture."""

    x: int
    y: int
    text: str


class Grid(NamedTuple):
    """The picture of a week: a row for each day, a column for each hour."""

    width: int
    height: int
    labels: list[Label]
    cells: list[Cell]


class Failure(NamedTuple):
    """Hours that failed alike."""

    code: str
    problem: str
    n: int
    newest: datetime


class Said(NamedTuple):
    """A finding in words."""

    code: str
    alarm: bool
    label: str
    subject: str
    text: str


@sensitive_post_parameters("token")
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def source(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the source and its hours; store another one."""
    row = access.cluster(request.user, slug, "cluster.details")
    found = source_of(row.pk)
    if request.method == "POST":
        access.require(request.user, "cluster.metrics", row)
        form = MetricsForm(request.POST)
        if form.is_valid() and _stored(request, row, form):
            return redirect("cluster-metrics", slug)
        return _page(request, row, found, form, status=422)
    return _page(request, row, found, MetricsForm(initial=_initial(found)))


def _stored(request: HttpRequest, row: Cluster, form: MetricsForm) -> bool:
    try:
        metrics.set_source(actor=cast(User, request.user), cluster=row, **form.facts())
    except DomainError as refusal:
        form.add_error(refusal.field if refusal.field in FIELDS else None, str(refusal.message))
        return False
    harvest.wake(row.pk)
    return True


def _initial(found: MetricsSource | None) -> dict[str, object]:
    """Begin with what is stored, without the token."""
    if found is None:
        return {}
    return {name: getattr(found, name) for name in ("server", "ca_pem", "job", "interval")}


def _page(
    request: HttpRequest,
    row: Cluster,
    found: MetricsSource | None,
    form: MetricsForm,
    status: int = 200,
) -> HttpResponse:
    hours = week(row.pk, timezone.now())
    tested = found is not None and found.is_checked
    if found and tested and found.problem_field in FIELDS and not form.is_bound:
        # A test is about what is stored, so what it found wrong stands at the field that says it.
        form.errors[found.problem_field] = form.error_class([found.problem])
    numbers = {state: hours.number(state) for state in LEGEND}
    context: dict[str, Any] = {
        "cluster": row, "source": found, "form": form, "metric": ACTIVE,
        "may_set": access.can(request.user, "cluster.metrics", row),
        "good": bool(found and tested and not found.code), "testing": bool(found) and not tested,
        "fallback": bool(found and found.found.get("fallback")),
        "forget": bool(found and found.sealed is not None), "days": _days(found),
        "numbers": numbers, "legend": [(key, word, numbers[key]) for key, word in LEGEND.items()],
        "grid": grid(hours), "failures": failures(hours), "findings": said(hours),
        "crumbs": [
            {"label": _("Clusters"), "url": reverse("clusters")},
            {"label": str(row), "url": reverse("cluster", args=[row.slug])},
        ],
    }  # fmt: skip
    answer = page(request, "costs/metrics.html", context, partial="state", status=status)
    if wants_partial(request) and not context["testing"]:
        # The result changes more than the part that waits for it.
        answer["HX-Refresh"] = "true"
    return answer


def _days(found: MetricsSource | None) -> int | None:
    """Return for how many days Prometheus keeps samples, if it says so."""
    kept = found.found.get("retention") if found else None
    return kept // DAY if kept else None


@require_POST
@login_required
def test(request: HttpRequest, slug: str) -> HttpResponse:
    """Have a worker test the source again."""
    row = access.cluster(request.user, slug, "cluster.metrics")
    metrics.ask_for_test(actor=cast(User, request.user), cluster=row)
    harvest.wake(row.pk)
    return redirect("cluster-metrics", slug)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Forget the source and its token."""
    row = access.cluster(request.user, slug, "cluster.metrics")
    metrics.remove_source(actor=cast(User, request.user), cluster=row)
    return redirect("cluster-metrics", slug)


def grid(found: Week) -> Grid:
    """Return where each hour stands."""
    labels = [Label(LEFT + hour * CELL + 15, 13, f"{hour:02}") for hour in range(0, 24, 6)]
    cells: list[Cell] = []
    for n, day in enumerate(found.days):
        y = TOP + n * CELL
        labels.append(Label(LEFT - 6, y + 14, date_format(day[0].starts, "j M")))
        for hour in day:
            why = f"{LEGEND[hour.state]} {hour.code}".strip()
            title = f"{date_format(hour.starts, 'j M H:i')} UTC: {why}"
            cells.append(Cell(LEFT + hour.starts.hour * CELL, y, hour.state, title))
    return Grid(LEFT + 24 * CELL, TOP + len(found.days) * CELL, labels, cells)


def failures(found: Week) -> list[Failure]:
    """Return why hours failed, what is most often first."""
    alike: dict[str, list[Asked]] = {}
    for hour in found.hours:
        if hour.state == "failed":
            alike.setdefault(hour.code, []).append(hour)
    each = [
        Failure(code, hours[-1].problem, len(hours), hours[-1].starts)
        for code, hours in alike.items()
    ]
    return sorted(each, key=lambda one: (-one.n, one.code))


def said(found: Week) -> list[Said]:
    """Return the findings in words, what needs a person first."""
    each = [_said(one) for one in found.findings]
    return sorted(each, key=lambda one: (not one.alarm, one.label, one.subject))


def _said(one: Finding) -> Said:
    whole, difference = one.whole, one.difference
    subject = str(one.facts.get("queue") or one.subject) or _("no node")
    if one.code in (Code.INTERVAL_GAP, Code.WITHIN_TOLERANCE):
        text = _("Kueue says %(theirs)s GPU-h, our records %(ours)s") % {
            "theirs": hours_text(whole), "ours": hours_text(whole + difference),
        }  # fmt: skip
    elif one.code is Code.USED_UNKNOWN:
        part = share_text(Fraction(whole + difference, whole))
        text = _("%(part)s of the time was seen, too little for a number") % {"part": part}
    elif one.code is Code.UNATTRIBUTED_USE:
        text = _("%(hours)s GPU-h used, and no pod says that it was it") % {"hours": hours_text(difference)}  # fmt: skip
    else:
        text = _("up to %(n)d pods on one device; its use is split in equal parts") % {"n": int(difference)}  # fmt: skip
    alarm = one.code in (Code.INTERVAL_GAP, Code.USED_UNKNOWN)
    return Said(one.code.value, alarm, str(_WORDS[one.code]), subject, text)
