"""Asks the metrics of a cluster what its GPUs did in an hour, and stores the answer.

An hour is stored as a whole or not at all. Where nothing could be asked there is no row of use,
and the hour is not known: that is never 0. Asked again, an hour gives the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from typing import Final

import structlog
from django.db import connections, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from costs.metrics import (
    Device,
    Holder,
    Hour,
    Intervals,
    Labels,
    PodUse,
    Row,
    Samples,
    Target,
    TooMany,
    device_of,
    doubtful,
    used,
)
from costs.models import GaugeHour, Harvest, MetricsSource, UsedHour
from costs.prometheus import MetricsError, Prometheus, QueryRefused, Series, TooLarge
from costs.promql import (
    ACTIVE,
    METRICS,
    RESERVED,
    beyond,
    counts,
    energy,
    gauge,
    raw,
    sums,
    targets_up,
)
from costs.selectors import harvests
from costs.services import metrics
from costs.services.hourly import Busy, ClosedHours, NotHours, NotOver
from costs.times import HOUR, Span, instant, moment
from kube.lifecycle_facts import is_device
from tenants.models import Cluster

log = structlog.get_logger(__name__)

_LOCK_CLASS: Final = 0x686172  # "har": keeps these locks apart from other advisory locks
_BATCH: Final = 2000
#: Devices whose samples are asked for together, so that no answer is large.
_TOGETHER: Final = 40


class NothingSaid(MetricsError):
    """Prometheus has no sample of any GPU in the hour: it is not known, and not 0."""

    code = "GP-5616"


class Twice(MetricsError):
    """There are more samples than scrapes."""

    code = "GP-5617"


#: What is wrong with one hour and says nothing of the next one.
OF_THE_HOUR: Final = (NothingSaid, Twice, TooLarge, QueryRefused)


def harvest(*, cluster: Cluster, hour: Span, now: datetime | None = None) -> Harvest:
    """Ask one hour and replace what is stored of it.

    ``NotHours``, ``NotOver``, ``ClosedHours``, ``Busy`` or ``NoSource`` if that cannot be; a
    ``MetricsError`` is noted too, and what an earlier harvest has found stays.
    """
    _check(hour, now or timezone.now())
    source = MetricsSource.objects.filter(cluster=cluster).first()
    if source is None:
        raise metrics.NoSource(_("No source of metrics is set for this cluster."))
    with _alone(cluster):
        try:
            with metrics.opened(source) as server:
                asked = ask(server, source, hour)
                gauges = list(_gauges(server, source, hour))
            found = _used(asked)
        except MetricsError as error:
            _note(cluster, hour, error)
            raise
        return _store(cluster, hour, asked, found, gauges)


def take_turn(cluster_id: int, *, seconds: int) -> bool:
    """Test the source if that is wanted, and ask what is due; return whether some is left.

    A source that was not good is tested again each time, so that it comes back by itself.
    """
    source = MetricsSource.objects.filter(pk=cluster_id).select_related("cluster").first()
    if source is None or ((not source.is_checked or source.code) and not _test(source)):
        return False
    source.refresh_from_db()
    until = time.monotonic() + seconds
    for hour in harvests.due(source, timezone.now()):
        if time.monotonic() >= until:
            return True
        if not _try(source.cluster, hour):
            _test(source)
            return False
    return False


def _test(source: MetricsSource) -> bool:
    """Test a source, unless it is being asked at this moment."""
    try:
        with _alone(source.cluster):
            return metrics.check(source)
    except Busy:
        return False


def _try(cluster: Cluster, hour: Span) -> bool:
    """Ask one hour; return whether it makes sense to ask the next one."""
    try:
        harvest(cluster=cluster, hour=hour)
    except (Busy, ClosedHours):
        return False
    except MetricsError as error:
        log.warning("harvest_failed", cluster=cluster.slug, hour=moment(hour.starts), code=error.code)  # fmt: skip
        return isinstance(error, OF_THE_HOUR)
    return True


def _check(hour: Span, now: datetime) -> None:
    if hour.starts % HOUR or hour.seconds != HOUR:
        raise NotHours(_("Only whole hours of UTC can be asked, one at a time."))
    if moment(hour.ends) + harvests.SETTLED > now:
        raise NotOver(_("This hour is not over for long enough: its last samples may be missing."))
    if harvests.closed_within(hour):
        raise ClosedHours(_("This hour is in a period that is closed."))


@contextmanager
def _alone(cluster: Cluster) -> Iterator[None]:
    """Let one harvest of a cluster at a time ask; ``Busy`` if another one does.

    The lock has a connection of its own and ends with it, so no transaction stays open meanwhile.
    """
    connection = connections.create_connection("default")
    connection.inc_thread_sharing()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCK_CLASS, cluster.pk])
            got = cursor.fetchone()
        if not got or not got[0]:
            said = _("The metrics of %(cluster)s are being asked already. Try again later.")
            raise Busy(said % {"cluster": cluster.slug})
        yield
    finally:
        connection.close()
        connection.dec_thread_sharing()


# --- asking ---------------------------------------------------------------------------------------


def ask(server: Prometheus, source: MetricsSource, hour: Span) -> Hour:
    """Ask all that is needed of an hour, one question after the other.

    ``NothingSaid`` if no device has a sample.
    """
    job, at = metrics.known_job(source), hour.ends
    rows = [row for metric in METRICS for row in _rows(server, metric, job, at)]
    if not rows:
        said = _("No GPU has a sample in the hour from %(hour)s.")
        raise NothingSaid(said % {"hour": f"{moment(hour.starts):%F %RZ}"})
    metrics.chosen_job(job, {row.labels.get("job", "") for row in rows})
    told = [metric for metric in METRICS if any(row.metric == metric for row in rows)]
    outside = frozenset(
        device_of(each.labels) for metric in told for each in server.ask(beyond(metric, job), at)
    )
    clear = {
        (metric, device): samples
        for metric, devices in doubtful(rows, outside).items()
        for device, samples in _samples(server, metric, job, devices, at)
    }
    return Hour(
        rows=rows,
        targets=_targets(server, job, at),
        intervals=_intervals(server, source),
        beyond=outside,
        raw=clear,
        energy=[Row(each.labels, ACTIVE, each.value, 0) for each in server.ask(energy(job), at)],
    )


def _rows(server: Prometheus, metric: str, job: str, at: int) -> Iterator[Row]:
    totals = {_key(each): each.value for each in server.ask(sums(metric, job), at)}
    if not totals:
        # The same series are counted as added up: there is none to count.
        return
    for each in server.ask(counts(metric, job), at):
        yield Row(each.labels, metric, totals.get(_key(each)), int(each.value or 0))


def _key(each: Series) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(each.labels.items()))


def _samples(
    server: Prometheus, metric: str, job: str, devices: Iterable[Device], at: int
) -> Iterator[tuple[Device, list[tuple[Labels, Samples]]]]:
    """Yield every sample of some devices."""
    wanted = set(devices)
    # A device without an identity of its own is told apart by other labels.
    names = sorted({"" if "/" in each.uuid else each.uuid for each in wanted})
    for first in range(0, len(names), _TOGETHER):
        found: dict[Device, list[tuple[Labels, Samples]]] = {}
        for labels, samples in server.samples(raw(metric, job, names[first : first + _TOGETHER]), at):  # fmt: skip
            found.setdefault(device_of(labels), []).append((labels, samples))
        yield from ((device, each) for device, each in found.items() if device in wanted)


def _targets(server: Prometheus, job: str, at: int) -> dict[tuple[str, str], Target]:
    return {
        (each.labels.get("job", ""), each.labels.get("instance", "")): Target(
            each.labels.get("namespace", ""), each.labels.get("pod", ""), int(each.value or 0)
        )
        for each in server.ask(targets_up(job), at)
    }


def _intervals(server: Prometheus, source: MetricsSource) -> Intervals:
    """Return how often targets are scraped: as it is set, or as Prometheus says now."""
    said: Mapping[tuple[str, str], int] = {} if source.interval else server.intervals() or {}
    return Intervals(source.interval, said)


def _gauges(
    server: Prometheus, source: MetricsSource, hour: Span
) -> Iterator[tuple[tuple[str, str, str], int, int]]:
    """Yield queue, flavor and resource, what Kueue said of it, and for how many seconds.

    Nothing where Kueue is not scraped, or nobody knows how often.
    """
    totals = server.ask(gauge(RESERVED, "sum_over_time"), hour.ends)
    if not totals:
        return
    known = Intervals(None, server.intervals() or {})
    samples = {_key(each): each.value for each in server.ask(gauge(RESERVED, "count_over_time"), hour.ends)}  # fmt: skip
    found: dict[tuple[str, str, str], list[Fraction]] = {}
    for each in totals:
        labels = each.labels
        if not is_device(labels.get("resource", "")):
            continue
        try:
            every = known.every(labels)
        except KeyError:
            continue
        line = found.setdefault(
            (labels.get("cluster_queue", ""), labels.get("flavor", ""), labels.get("resource", "")),
            [Fraction(0), Fraction(0)],
        )
        line[0] += (each.value or 0) * every
        line[1] += (samples.get(_key(each)) or 0) * every
    for key, (reserved, seen) in found.items():
        yield key, round(reserved), min(int(seen), HOUR)


def _used(asked: Hour) -> dict[Holder, PodUse]:
    try:
        return used(asked)
    except TooMany as error:
        said = _("%(device)s has more samples than scrapes: the interval is wrong, or it is there twice.")  # fmt: skip
        raise Twice(said % {"device": str(error)}, field="interval") from None
    except KeyError as error:
        said = _("Prometheus does not say how often %(job)s is scraped. Set it.")
        raise metrics.NoInterval(said % {"job": error.args[0]}, field="interval") from None


# --- storing --------------------------------------------------------------------------------------


@transaction.atomic
def _store(
    cluster: Cluster,
    hour: Span,
    asked: Hour,
    found: Mapping[Holder, PodUse],
    gauges: Iterable[tuple[tuple[str, str, str], int, int]],
) -> Harvest:
    at = moment(hour.starts)
    for model in (UsedHour, GaugeHour):
        model.objects.filter(cluster=cluster, hour=at).delete()
    UsedHour.objects.bulk_create(
        (_row(cluster, at, who, use) for who, use in sorted(found.items())), batch_size=_BATCH
    )
    GaugeHour.objects.bulk_create(
        (
            GaugeHour(
                cluster=cluster, hour=at, queue=queue, flavor=flavor, resource=resource,
                reserved=reserved, seen=seen,
            )
            for (queue, flavor, resource), reserved, seen in sorted(gauges)
        ),
        batch_size=_BATCH,
    )  # fmt: skip
    clamped = sum(use.clamped for use in found.values())
    fresh = {"at": Now(), "code": "", "problem": "", "series": len(asked.rows), "clamped": clamped}
    row, _made = Harvest.objects.update_or_create(cluster=cluster, hour=at, defaults=fresh)
    row.refresh_from_db()
    return row


def _row(cluster: Cluster, at: datetime, who: Holder, use: PodUse) -> UsedHour:
    milli = use.milli
    return UsedHour(
        cluster=cluster, hour=at, namespace=who.namespace[:63], pod=who.pod[:253],
        pod_uid=who.uid[:64], node=who.node[:253], model=who.model[:128], profile=who.profile[:64],
        used=min(milli, use.seen * 1000), seen=use.seen, expected=use.expected,
        fallback=use.fallback, shared=use.shared, clamped=use.clamped,
        energy=None if use.energy is None else max(0, round(use.energy * Fraction(1, 1000))),
    )  # fmt: skip


@transaction.atomic
def _note(cluster: Cluster, hour: Span, error: MetricsError) -> None:
    """Note a failure, unless the hour is known from an earlier harvest."""
    at = moment(hour.starts)
    facts = {"code": error.code, "problem": str(error.message)[:500]}
    row, made = Harvest.objects.get_or_create(
        cluster=cluster, hour=at, defaults={"at": Now(), **facts}
    )
    if not made:
        rows = Harvest.objects.filter(pk=row.pk).exclude(code="")
        rows.update(at=Now(), attempts=F("attempts") + 1, **facts)


def whole_hours(starts: datetime, ends: datetime) -> list[Span]:
    """Return the hours from one time to another; ``NotHours`` if these are none."""
    span = Span(instant(starts), instant(ends))
    if span.starts % HOUR or span.ends % HOUR or span.seconds <= 0:
        raise NotHours(_("Only whole hours of UTC can be asked, and one at least."))
    return [Span(at, at + HOUR) for at in range(span.starts, span.ends, HOUR)]
