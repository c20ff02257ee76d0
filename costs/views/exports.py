"""A month as files for programs: hours, Workloads, and the FOCUS format; made while they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

from django.contrib.auth.decorators import login_required
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from costs.facts import Phase
from costs.models import TenantHour
from costs.money import PLACES, shown
from costs.rates import Basis, PriceKey, Purchase, cost
from costs.selectors import focus_export, workload_hours
from costs.selectors.generated import generated
from costs.selectors.hours import SUMMED, within
from costs.selectors.months import Month
from costs.selectors.pricing import Book, book_of
from costs.times import HOUR, Span, instant
from costs.used import Use
from costs.views import files
from costs.views.asked import asked, query
from queues.models import Lifetime
from tenants import access
from tenants.models import Cluster, Tenant

_CHUNK: Final = 5000
HOURS: Final = (
    "hour", "cluster", "tenant", "flavor", "resource", *(f"{name}_s" for name in SUMMED), "used_s",
    "seen_s", "expected_s", "coverage_s", "quality", files.GENERATED,
)  # fmt: skip
WORKLOADS: Final = (
    "cluster", "uid", "namespace", "job_kind", "job", "queue", "priority_class", "created",
    "finished", "outcome", "evictions", "lost_s", "flavor", "resource", "held_s", "own_s",
    "borrowed_s", "reserved_s", "admitted_s", "draining_s", "used_s", "seen_s", "expected_s",
    "admitted_cost", "currency", files.GENERATED,
)  # fmt: skip


class Link(NamedTuple):
    """A file on a page."""

    label: str
    note: str
    url: str


@require_safe
@login_required
def tenant_hours(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Give every hour of a tenant in a month, all pools."""
    row = access.tenant(request.user, slug, "tenant.numbers")
    month = _month(request)
    rows = TenantHour.objects.filter(within(month.span), tenant=row)
    return files.streamed(["hours", slug, str(month)], HOURS, _hours(rows))


@require_safe
@login_required
def cluster_hours(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Give every hour of all tenants of a cluster in a month."""
    row = access.cluster(request.user, slug, "cluster.details")
    month = _month(request)
    rows = TenantHour.objects.filter(within(month.span), cluster=row)
    return files.streamed(["hours", slug, str(month)], HOURS, _hours(rows))


def _hours(rows: QuerySet[TenantHour]) -> Iterator[list[files.Cell]]:
    columns = (
        "hour", "cluster__slug", "tenant__slug", "flavor", "resource", *SUMMED, "used", "seen",
        "expected", "coverage", "quality",
    )  # fmt: skip
    found = rows.order_by("hour", "cluster", "flavor", "resource", F("tenant")).values_list(
        *columns
    )
    used, told = columns.index("used"), generated()
    for row in found.iterator(chunk_size=_CHUNK):
        cells: list[files.Cell] = [f"{row[0]:%FT%TZ}", *row[1:]]
        # Stored in thousandths of a second of a device.
        cells[used] = None if row[used] is None else Decimal(row[used]).scaleb(-3)
        at = instant(row[0])
        yield [*cells, files.flag(made=told.within(Span(at, at + HOUR), [row[1]]))]


@require_safe
@login_required
def workloads(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Give every Workload that held devices of a tenant in a month; money to those who may."""
    row = access.tenant(request.user, slug, "tenant.jobs")
    month = _month(request)
    book = None
    if access.can(request.user, "tenant.costs", row):
        book = book_of(month)
    rows = _workloads(slug, month, book)
    return files.streamed(["workloads", slug, str(month)], WORKLOADS, rows)


def _workloads(slug: str, month: Month, book: Book | None) -> Iterator[list[files.Cell]]:
    # What is still held has been held until now, and not until the end of the month.
    span = month.span._replace(ends=min(month.span.ends, instant(timezone.now())))
    told = generated()
    for cluster in Cluster.objects.order_by("slug") if span.seconds > 0 else ():
        for each in workload_hours.held(cluster.pk, slug, span):
            life, seconds, use = each.lifetime, each.seconds, each.use or Use(0, 0, 0)
            amount = _cost(book, each) if book else None
            yield [
                cluster.slug, life.uid, life.namespace, life.job_kind, life.job_name or life.name,
                each.queue, life.priority_class, _time(life.created_at), _time(life.finished_at),
                life.outcome, life.evictions, each.lost, *each.pool, each.held,
                each.own, each.borrowed,
                *(seconds[phase] for phase in (Phase.RESERVED, Phase.ADMITTED, Phase.DRAINING)),
                Decimal(use.used).scaleb(-3) if use.known else None,
                *((use.seen, use.expected) if each.use else (None, None)),
                amount, book.prices.currency if book and amount is not None else None,
                files.flag(made=told.within(_span(life, month), [cluster.pk])),
            ]  # fmt: skip


def _span(life: Lifetime, month: Month) -> Span:
    """Return the time of a Workload; one that is not over lasts to the end of the month."""
    starts = instant(life.created_at)
    ends = instant(life.finished_at) if life.finished_at else month.span.ends
    return Span(starts, max(starts + 1, ends))


def _cost(book: Book, each: workload_hours.Held) -> Decimal | None:
    """Return what admitted time costs by the price list; nothing where a part has no price."""
    rates = book.prices.rates
    keys = [PriceKey(each.pool.flavor, Basis.ADMITTED, purchase) for purchase in Purchase]
    dated = [rates[key] for key in keys if key in rates]
    if len(dated) != 1:
        return None
    whole = Fraction(0)
    for span, devices in each.spans:
        for part, rate in dated[0].within(span):
            if rate is None:
                return None
            whole += cost(part.seconds * devices, rate)
    return shown(whole, PLACES)


def _time(at: Any) -> str | None:
    return f"{at:%FT%TZ}" if at else None


@require_safe
@login_required
def tenant_focus(request: HttpRequest, slug: str, cluster: str) -> StreamingHttpResponse:
    """Give a month of a tenant in a cluster in the FOCUS format."""
    row = access.tenant(request.user, slug, "tenant.costs")
    place = access.cluster(request.user, cluster)
    rows = TenantHour.objects.filter(tenant=row, cluster=place)
    return _focus(request, rows, place, ["focus", slug, cluster])


@require_safe
@login_required
def cluster_focus(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Give a month of all tenants of a cluster in the FOCUS format."""
    place = access.cluster(request.user, slug, "cluster.details")
    return _focus(request, TenantHour.objects.filter(cluster=place), place, ["focus", slug])


def _focus(
    request: HttpRequest, rows: QuerySet[TenantHour], place: Cluster, name: list[str]
) -> StreamingHttpResponse:
    month = _month(request)
    within_month = rows.filter(within(month.span))
    strict = request.GET.get("profile") == "strict"
    made = focus_export.export(within_month, place.slug, month, strict=strict)
    rows_of_it = focus_export.lines(made, within_month)
    return files.streamed([*name, str(month)], made.head, rows_of_it, bom=False)


def _month(request: HttpRequest) -> Month:
    """Return the month that is asked for; a program must not get another one."""
    wanted = asked(request)
    if wanted.wrong:
        raise Http404(_("No such month."))
    return wanted.month


def of_tenant(request: HttpRequest, row: Tenant, month: Month, cluster: str) -> list[Link]:
    """Return the files of a tenant's month that a person may have; FOCUS is of one cluster."""
    found = [_link("tenant-hours", [row.slug], month, _("Hours"), _("every pool, in seconds"))]
    if access.can(request.user, "tenant.jobs", row):
        note = _("what each of them held")
        found.append(_link("tenant-workloads", [row.slug], month, _("Workloads"), note))
    if cluster and access.can(request.user, "tenant.costs", row):
        note = _("what is charged, for FinOps tools")
        found.append(_link("tenant-focus", [row.slug, cluster], month, _("FOCUS 1.2"), note))
    return found


def of_cluster(row: Cluster, month: Month) -> list[Link]:
    """Return the files of a cluster's month."""
    return [
        _link("cluster-hours", [row.slug], month, _("Hours"), _("all tenants, every pool")),
        _link("cluster-focus", [row.slug], month, _("FOCUS 1.2"), _("what is charged to tenants")),
    ]


def _link(name: str, args: list[str], month: Month, label: str, note: str) -> Link:
    return Link(label, note, reverse(name, args=args) + query(month, None))
