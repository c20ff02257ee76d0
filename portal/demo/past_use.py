"""What the made-up GPUs did, asked of the demo's Prometheus by the portal's own harvest."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from costs.models import GeneratedTime, Harvest, MetricsSource
from costs.prometheus import MetricsError
from costs.services import harvest, hourly, metrics
from costs.times import Span, hours, instant, moment
from kube.errors import one_line
from portal.demo import past, prometheus
from portal.demo.prometheus import NoHistoryError, Say, Store
from portal.demo.readings import JOB, Past
from tenants.models import Cluster, User

PATIENCE: Final = 120.0
PAUSE: Final = 0.5
#: Stored with the row, and shown on pages.
_TEXT: Final = 300


def connect(row: GeneratedTime, *, folder: Path, server: str, actor: User, say: Say) -> bool:
    """Make the history if it is missing, and set the source; return whether there is one.

    A past that is finished gets none later: its hours were counted without. Why there is none is
    noted in the row.
    """
    store = Store(folder)
    rows = GeneratedTime.objects.filter(pk=row.pk)
    if row.finished_at is not None and not store.data.exists():
        store.note(failed="finished without")
        return False
    try:
        _made(row, store, say)
        _wait(server)
    except NoHistoryError as error:
        why = one_line(str(error), _TEXT)
        store.note(failed=why)
        if row.finished_at is None:
            rows.update(unmeasured=why, lasting=False)
        say(f"what GPUs used stays unknown: {why}")
        return False
    rows.update(unmeasured="", lasting=True)
    source = MetricsSource.objects.filter(cluster=row.cluster).first()
    if source is None or source.server != server:
        metrics.set_source(actor=actor, cluster=row.cluster, server=server, job=JOB)
    return True


def _made(row: GeneratedTime, store: Store, say: Say) -> None:
    server, promtool = prometheus.programs(say)
    if not store.data.exists():
        began = time.monotonic()
        story = past.times(row.until)
        span = instant(row.starts), instant(row.until)
        prometheus.fill(store, Past(story, past.played(story)), span, promtool, say)
        say(f"readings of GPUs are in Prometheus after {time.monotonic() - began:.0f} s")
    store.note(program=str(server))


def _wait(server: str) -> None:
    """Wait until the server answers, which another process starts."""
    until = time.monotonic() + PATIENCE
    while not prometheus.is_ready(server):
        if time.monotonic() > until:
            raise NoHistoryError(f"Prometheus did not answer within {PATIENCE:.0f} s")
        time.sleep(PAUSE)


def measure(cluster: Cluster, span: Span) -> bool:
    """Ask the hours of a span that were not asked yet; return whether there were any."""
    rows = Harvest.objects.filter(
        cluster=cluster, code="", hour__gte=moment(span.starts), hour__lt=moment(span.ends)
    )
    known = {instant(each) for each in rows.values_list("hour", flat=True)}
    wanted = [hour for hour in hours(span) if hour.starts not in known]
    for hour in wanted:
        patiently(partial(_ask, cluster, hour))
    return bool(wanted)


def _ask(cluster: Cluster, hour: Span) -> None:
    """Ask one hour. One that is closed, or that itself cannot be answered, stays as it is."""
    try:
        harvest.harvest(cluster=cluster, hour=hour)
    except (*harvest.OF_THE_HOUR, hourly.ClosedHours):
        return


def check(cluster: Cluster) -> None:
    """Test the source until it is good: readings of this start come within a minute."""
    until = time.monotonic() + PATIENCE
    source = MetricsSource.objects.get(cluster=cluster)
    while not metrics.check(source) and time.monotonic() < until:
        time.sleep(10 * PAUSE)
        source.refresh_from_db()


def patiently(do: Callable[[], object]) -> None:
    """Do something that the portal itself may be at, or that needs a server that starts anew."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            do()
            return
        except (hourly.Busy, MetricsError):
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE)
