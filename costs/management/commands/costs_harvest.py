"""Asks the metrics of hours by hand: those that were missed, or all that are named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from costs.selectors.harvests import SETTLED
from costs.services import harvest as harvesting
from costs.times import HOUR, hour_of, instant, moment
from portal.web.errors import DomainError
from tenants.models import Cluster


class Command(BaseCommand):
    """One hour after the other; what is stored stays, whatever comes after it."""

    help = (
        "Ask the metrics of a cluster from --from to --to (whole hours; without a zone they are "
        "UTC) and store what was used; what was there is replaced. Without --to up to the last "
        "hour that is over, without --from the hour before --to. Prometheus forgets after some "
        "days: of an hour that it has forgotten, what is stored stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the cluster and the hours."""
        parser.add_argument("cluster", metavar="CLUSTER", help="name of a registered cluster")
        parser.add_argument("--from", dest="starts", metavar="ISO", help="the first hour")
        parser.add_argument("--to", dest="ends", metavar="ISO", help="the end of the last hour")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, and print one line for each hour; an hour that fails does not end it."""
        cluster = Cluster.objects.filter(slug=options["cluster"]).first()
        if cluster is None:
            raise CommandError(f"no cluster is registered as {options['cluster']!r}")
        settled = timezone.now() - SETTLED
        ends = time_of("--to", options["ends"]) or moment(hour_of(instant(settled)))
        starts = time_of("--from", options["starts"]) or ends - timedelta(seconds=HOUR)
        failed = 0
        try:
            spans = harvesting.whole_hours(starts, ends)
        except DomainError as error:
            raise CommandError(str(error)) from error
        for hour in spans:
            try:
                row = harvesting.harvest(cluster=cluster, hour=hour)
                said = f"{row.series} series, {row.clamped} cut"
            except DomainError as error:
                failed, said = failed + 1, str(error)
            self.stdout.write(f"{moment(hour.starts):%FT%RZ} {said}")
        if failed:
            raise CommandError(f"{failed} of {len(spans)} hours are not known")


def time_of(option: str, written: str | None) -> datetime | None:
    """Read a time; one without a zone is UTC, as all times of the ledger."""
    if written is None:
        return None
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        raise CommandError(f"{option}: write a time like 2026-11-30T08:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
