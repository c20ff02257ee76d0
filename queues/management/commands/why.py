"""Says in a terminal why a job is where it is: the same words as on its page."""

from __future__ import annotations

import sys
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import translation

from queues import access
from queues.access import Sight
from queues.models import Workload
from queues.reading import text_of, why
from queues.selectors.freshness import is_late
from tenants.models import Cluster, User

NOT_FOUND: Final = 3
SEVERAL: Final = 4
OLD: Final = 5


class Command(BaseCommand):
    """Exit codes: 0 answered, 1 a value is wrong, 2 the command line is wrong, 3 no such job,
    4 several clusters have one, 5 answered from data that may be old.
    """  # fmt: skip

    help = (
        "Say why a job waits, and what would help. Exit codes: 0 answered; 1 a value is wrong; "
        "2 the command line is wrong; 3 there is no such job; 4 several clusters have one, name "
        "it with --cluster; 5 answered, but the cluster was not heard for longer than it should be."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the job, and for whom the answer is."""
        parser.add_argument("job", metavar="NAMESPACE/JOB", help="name of the job or its Workload")
        parser.add_argument("--cluster", help="name of the cluster, where several have this job")
        parser.add_argument("--as", dest="viewer", metavar="USER", help="answer as this person")
        languages = [code for code, _name in settings.LANGUAGES]
        parser.add_argument("--language", default=languages[0], choices=languages)

    def handle(self, *args: Any, **options: Any) -> None:
        """Find the job and print the answer."""
        namespace, slash, name = options["job"].partition("/")
        if not (namespace and slash and name):
            raise CommandError("write the job as NAMESPACE/JOB")
        sight = _sight(options["viewer"])
        job = _job(sight, namespace, name, options["cluster"])
        with translation.override(options["language"]):
            answer = why(sight, job)
            self.stdout.write(text_of(answer), ending="")
        if is_late(answer.facts.ages):
            sys.exit(OLD)


def _sight(username: str | None) -> Sight:
    """Give the eyes of a person, or those of who sits here and may read the database."""
    if username is None:
        return access.everything()
    person = User.objects.filter(username=User.normalize_username(username)).first()
    if person is None:
        raise CommandError(f"there is no account {username!r}")
    return access.sight(person)


def _job(sight: Sight, namespace: str, name: str, cluster: str | None) -> Workload:
    rows = access.named(sight, namespace, name)
    if cluster is not None:
        if not Cluster.objects.filter(slug=cluster).exists():
            raise CommandError(f"no cluster is registered as {cluster!r}")
        rows = rows.filter(cluster__slug=cluster)
    found = list(rows)
    if not found:
        raise CommandError(f"there is no job {namespace}/{name}", returncode=NOT_FOUND)
    slugs = sorted({job.cluster.slug for job in found})
    if len(slugs) > 1:
        said = f"{namespace}/{name} is in several clusters, choose one: {', '.join(slugs)}"
        raise CommandError(said, returncode=SEVERAL)
    return found[0]
