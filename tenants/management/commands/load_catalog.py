"""`manage.py load_catalog FILE --cluster NAME --actor NAME`: ask for what a file says."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kube import catalog_json
from kube.problems import InvalidCatalog
from portal.web.errors import DomainError
from tenants.models import Cluster, Request, User
from tenants.sentences import sentence
from tenants.services import requests


class Command(BaseCommand):
    """A file takes the same way as a form: it makes a request, which is planned and decided."""

    help = "Make a request for the catalog in FILE (JSON; its form: python -m kube schema)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file, the cluster, and who asks."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--actor", required=True, help="the administrator who asks")
        parser.add_argument("--reason", default="Read from a file.")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Submit, or show every problem with its field."""
        text = read(options["file"])
        try:
            row = requests.submit(
                actor=find(User, username=User.normalize_username(options["actor"])),
                cluster=find(Cluster, slug=options["cluster"]),
                tenant=None,
                kind=Request.Kind.CATALOG,
                edits=requests.whole_catalog(catalog_json.loads(text)),
                reason=options["reason"],
                key="file-" + hashlib.sha256(text).hexdigest()[:48],
            )
        except (requests.Invalid, InvalidCatalog) as error:
            lines = [f"{each.field or 'file'}: {sentence(each)}" for each in error.problems]
            raise CommandError("\n".join(lines)) from None
        except DomainError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Request {row.pk} is {row.get_state_display()}.")


def read(file: Path) -> bytes:
    """Return the file, or say why not."""
    try:
        with file.open("rb") as stream:
            return stream.read(catalog_json.MAX_BYTES + 1)
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}."
        raise CommandError(message) from None


def find(model: Any, **key: str) -> Any:
    """Return the row, or say that there is none."""
    row = model.objects.filter(**key).first()
    if row is None:
        message = f"There is no {model._meta.verbose_name} {next(iter(key.values()))!r}."
        raise CommandError(message)
    return row
