"""Counts the hours of a cluster: from what the observer has noted to the facts that are stored.

The same hours counted again give the same facts, as long as nothing was noted late: what is still
held counts to the end of the hour, and what each queue had is read as it was then.
"""

from __future__ import annotations

import time
from datetime import datetime
from itertools import pairwise
from typing import Final

import structlog
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from costs.checks import broken
from costs.facts import Records
from costs.ledger import ledger
from costs.models import Period, Run
from costs.selectors import due, holdings, listening, pods, standing, uses
from costs.services import control
from costs.services.facts import store
from costs.times import HOUR, Span, hour_of, instant, moment
from portal.web.errors import Refused, Stale
from tenants.models import Cluster

log = structlog.get_logger(__name__)

#: Hours of one count: what it reads is held in memory, and closing a month waits for its end.
LONGEST: Final = due.TOGETHER
#: How long the transaction of a count may ask nothing.
THINKING: Final = "10min"
_LOCK_CLASS: Final = 0x686F75  # "hou": keeps these locks apart from other advisory locks
#: The lock of the triggers of this app: writers of hours hold it together, closing takes it alone.
_CLOSING: Final = 6515823


class NotOver(Refused):
    """An hour that is not over yet was to be counted."""

    code = "GP-5401"


class ClosedHours(Refused):
    """Hours of a closed period were to be counted anew."""

    code = "GP-5402"


class Busy(Stale):
    """Another count of the same cluster runs."""

    code = "GP-5403"


class NotHours(Refused):
    """What was to be counted are not whole hours, none at all, or too many at once."""

    code = "GP-5404"


class DoesNotAddUp(Exception):
    """Facts contradict each other: a defect of the ledger, and nothing that may be stored."""


def count(*, cluster: Cluster, span: Span, now: datetime | None = None) -> Run:
    """Count the hours of a span and store their facts; returns the run with their hash.

    ``NotHours``, ``NotOver``, ``ClosedHours`` or ``Busy`` if that cannot be, ``DoesNotAddUp`` on
    a defect; then nothing has changed.
    """
    _check(span, now or timezone.now())
    if span.seconds > LONGEST * HOUR:
        sentence = _("At most %(longest)d hours can be counted at once.")
        raise NotHours(sentence % {"longest": LONGEST}, details={"hours": span.seconds // HOUR})
    with transaction.atomic():
        at = _lock(cluster)
        _refuse_closed(span)
        known = records(cluster.pk, span, at)
        found = list(ledger(known, span))
        if wrong := [each for hour in found for each in broken(hour)]:
            raise DoesNotAddUp("; ".join(wrong[:5]))
        control.note(cluster=cluster, span=span, holds=known.holds)
        return store(cluster=cluster, span=span, found=found, at=at)


def records(cluster_id: int, span: Span, now: datetime) -> Records:
    """Return all that is on record of a span, in thirteen queries for any number of rows.

    Where the use was asked of the metrics, one more.
    """
    quotas, nodes = standing.quotas(cluster_id, span), standing.nodes(cluster_id, span)
    owners, blind = holdings.owners(cluster_id, span), listening.blind(cluster_id, span, now)
    had = pods.pods(cluster_id, span, owners, nodes)
    metrics = uses.measured(cluster_id, span, uses.Known(nodes, owners.namespaces, had))
    if metrics.unplaced:
        lost = sorted({each.node for each in metrics.unplaced})
        log.warning("use_without_a_pool", cluster_id=cluster_id, nodes=lost[:20])
    return Records(
        holds=list(holdings.holds(cluster_id, span)),
        grants=quotas.grants,
        cohorts=quotas.cohorts,
        owners=owners.queues,
        nodes=nodes,
        pods=had,
        uses=metrics.uses,
        devices=metrics.devices,
        gaps=blind.all,
        pod_gaps=blind.pods,
    )


def take_turn(cluster_id: int, *, seconds: int) -> bool:
    """Count what is due of a cluster for a while; return whether some is left.

    Nothing where another process counts, which will count this too, or where there is no cluster.
    """
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        return False
    try:
        return count_due(cluster=cluster, seconds=seconds)
    except Busy:
        log.info("count_is_running", cluster=cluster.slug)
        return False


def count_due(*, cluster: Cluster, seconds: int, now: datetime | None = None) -> bool:
    """Count the hours that are missing or known better by now, the first first.

    Returns whether some are left when so many seconds are over. A defect in some hours is logged,
    and does not keep the others from being counted.
    """
    until = time.monotonic() + seconds
    for span in due.spans(cluster.pk, now or timezone.now()):
        if time.monotonic() >= until:
            return True
        try:
            count(cluster=cluster, span=span, now=now)
        except DoesNotAddUp:
            log.exception("count_does_not_add_up", cluster=cluster.slug, starts=moment(span.starts))
    return False


def parts(span: Span, now: datetime | None = None) -> list[Span]:
    """Return a span of any length in parts that can be counted, cut at every sixth hour of UTC.

    ``NotHours`` or ``NotOver`` if the span as a whole cannot be counted.
    """
    _check(span, now or timezone.now())
    most = LONGEST * HOUR
    first = span.starts - span.starts % most + most
    edges = [span.starts, *range(first, span.ends, most), span.ends]
    return [Span(*each) for each in pairwise(edges)]


def _check(span: Span, now: datetime) -> None:
    if span.starts % HOUR or span.ends % HOUR:
        raise NotHours(_("Only whole hours of UTC can be counted."))
    if span.seconds <= 0:
        raise NotHours(_("There is no hour to count: the end is not after the beginning."))
    over = hour_of(instant(now))
    if span.ends > over:
        sentence = _("Only hours before %(over)s are over and can be counted.")
        shown = f"{moment(over):%FT%RZ}"
        raise NotOver(sentence % {"over": shown}, details={"over": shown})


def _lock(cluster: Cluster) -> datetime:
    """Let one count at a time into a cluster, and none into a month that is being closed.

    Returns the time of the database: whatever is on record by then will be read.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(%s, %s), statement_timestamp()",
            [_LOCK_CLASS, cluster.pk],
        )
        got, at = cursor.fetchone()
        if not got:
            sentence = _("The hours of %(cluster)s are being counted already. Try again later.")
            raise Busy(sentence % {"cluster": cluster.slug})
        # On a starved machine the ledger may think for longer than the sessions of pages may.
        cursor.execute(
            "SELECT pg_advisory_xact_lock_shared(%s),"
            " set_config('idle_in_transaction_session_timeout', %s, true)",
            [_CLOSING, THINKING],
        )
    found: datetime = at
    return found


def _refuse_closed(span: Span) -> None:
    closed = Period.objects.filter(
        state=Period.State.CLOSED, starts__lt=moment(span.ends), ends__gt=moment(span.starts)
    )
    period = closed.order_by("starts", "pk").first()
    if period is not None:
        sentence = _(
            "The hours from %(starts)s to %(ends)s are in a period that is closed. "
            "Book a correction in an open one."
        )
        facts = {"starts": f"{period.starts:%FT%RZ}", "ends": f"{period.ends:%FT%RZ}"}
        raise ClosedHours(sentence % facts, details=facts)
