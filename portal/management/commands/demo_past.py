"""Fills two months before the demo with figures that were made up, measures and counts them."""

from __future__ import annotations

import time
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import F, Min
from django.utils import timezone

from costs.models import GeneratedTime, Period, PriceBook, Run
from costs.services import hourly
from costs.times import HOUR, Span, instant
from portal.demo import past, past_money, past_rows, past_use
from portal.management.commands.demo_seed import CLUSTER
from queues.models import QuotaChange, Stream
from tenants.models import Cluster, User

PATIENCE = 300.0
PAUSE = 0.5
#: Of how many parts of six hours each a line tells.
TELL = 60


class Command(BaseCommand):
    """Safe to run again: it goes on where it was, and does nothing once all is there."""

    help = "Generate the past of a demo. Refused outside demo mode."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take where Prometheus keeps its samples and where it answers; without, nothing is used."""
        parser.add_argument("--metrics", type=Path, help="folder of the demo's Prometheus")
        parser.add_argument("--server", default="", help="address of the demo's Prometheus")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the story, count its hours, the newest day first, and close its first month."""
        if not settings.DEMO:
            raise CommandError("this is not a demo")
        began = time.monotonic()
        cluster = Cluster.objects.get(slug=CLUSTER)
        row = GeneratedTime.objects.filter(cluster=cluster).first()
        if row is None:
            observed = self.first_look(cluster)
            story = past.times(observed)
            row = past_rows.write(
                cluster=cluster, story=story, found=past.played(story), observed=observed
            )
            self.say(f"generated {row.starts:%F} to {row.until:%F %R}")
        self.prices(row)
        measured = bool(options["metrics"]) and past_use.connect(
            row, folder=options["metrics"], server=options["server"],
            actor=people_of_money()["dave"], say=self.say,
        )  # fmt: skip
        if row.finished_at is None:
            self.count(row, measured=measured)
            self.close()
            GeneratedTime.objects.filter(pk=row.pk).update(finished_at=timezone.now())
            self.say(f"finished after {time.monotonic() - began:.0f} s")
        if measured:
            past_use.check(cluster)

    def say(self, text: str) -> None:
        """Tell how far it is."""
        self.stdout.write(text)
        self.stdout.flush()

    def first_look(self, cluster: Cluster) -> datetime:
        """Wait until the observer has looked at the cluster; what was before is generated."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            rows = QuotaChange.objects.filter(cluster=cluster)
            found: datetime | None = rows.aggregate(first=Min("observed_at"))["first"]
            pods = Stream.objects.filter(cluster=cluster, kind="Pod", history_since__isnull=False)
            if found and pods.exists():
                return found
            time.sleep(PAUSE)
        raise CommandError(f"nobody has looked at the cluster within {PATIENCE:.0f} s")

    def prices(self, row: GeneratedTime) -> None:
        """Make prices and take the bills, once."""
        if PriceBook.objects.filter(name=past_money.BOOK).exists():
            return
        story = past.times(row.until)
        people = people_of_money()
        with transaction.atomic():
            past_money.priced(story, maker=people["carol"], decider=people["dave"])
            past_money.billed(story, actor=people["dave"])

    def count(self, row: GeneratedTime, *, measured: bool) -> None:
        """Measure and count what was not yet, by the product's own harvest and count."""
        mine = GeneratedTime.objects.filter(pk=row.pk)
        mine.update(counted=0)
        whole = Span(instant(row.starts), instant(row.until))
        done = {
            (instant(starts), instant(ends))
            for starts, ends in Run.objects.filter(cluster=row.cluster).values_list(
                "starts", "ends"
            )
        }
        parts = list(reversed(hourly.parts(whole)))
        for n, span in enumerate(parts, 1):
            fresh = measured and past_use.measure(row.cluster, span)
            if fresh or span not in done:
                past_use.patiently(partial(hourly.count, cluster=row.cluster, span=span))
            mine.update(counted=F("counted") + span.seconds // HOUR)
            if not n % TELL:
                self.say(f"hours counted: {100 * n // len(parts)} %")

    def close(self) -> None:
        """Close the month before the one in which the story ends, and book what came late."""
        book = PriceBook.objects.get(name=past_money.BOOK)
        if not Period.objects.filter(book=book).exists():
            past_money.joined()
            past_money.closed(book=book, people=people_of_money())


def people_of_money() -> dict[str, User]:
    """Return who makes and decides what is charged, by their names."""
    return {each.username: each for each in User.objects.filter(username__in=("carol", "dave"))}
