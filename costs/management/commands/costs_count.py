"""Counts hours of a cluster by hand: those that nobody has counted, or all that are named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from costs.services import hourly
from costs.times import HOUR, Span, hour_of, instant, moment
from portal.web.errors import DomainError
from tenants.models import Cluster


class Command(BaseCommand):
    """Counts some hours at a time; what is counted stays, whatever comes after it."""

    help = (
        "Count the hours of a cluster from --from to --to (whole hours; without a zone they are "
        "UTC) and store their facts; those that were there are replaced. Without --to up to the "
        "last hour that is over, without --from the hour before --to."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the cluster and the hours."""
        parser.add_argument("cluster", metavar="CLUSTER", help="name of a registered cluster")
        parser.add_argument("--from", dest="starts", metavar="ISO", help="the first hour")
        parser.add_argument("--to", dest="ends", metavar="ISO", help="the end of the last hour")

    def handle(self, *args: Any, **options: Any) -> None:
        """Count, and print one line for each run."""
        cluster = Cluster.objects.filter(slug=options["cluster"]).first()
        if cluster is None:
            raise CommandError(f"no cluster is registered as {options['cluster']!r}")
        over = moment(hour_of(instant(timezone.now())))
        ends = _time("--to", options["ends"]) or over
        starts = _time("--from", options["starts"]) or ends - timedelta(seconds=HOUR)
        span = Span(instant(starts), instant(ends))
        try:
            for part in hourly.parts(span):
                run = hourly.count(cluster=cluster, span=part)
                self.stdout.write(f"{run.starts:%FT%RZ} {run.ends:%FT%RZ} {run.result}")
        except DomainError as error:
            raise CommandError(str(error)) from error


def _time(option: str, written: str | None) -> datetime | None:
    """Read a time; one without a zone is UTC, as all times of the ledger."""
    if written is None:
        return None
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        raise CommandError(f"{option}: write a time like 2026-11-30T08:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
