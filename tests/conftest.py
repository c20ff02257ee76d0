"""What every test gets: real engines and the application's database role.

Each worker of pytest-xdist has its own database on the one server of the run. A test that uses
the database runs as the application's role, as the portal does; the mark `owner` lifts that.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import django
import hypothesis
import pytest

from tests import engines

T = TypeVar("T")
NO_BROWSER = "no Chromium here; make test installs it when it runs as root"


def browser() -> str | None:
    """Return the path of Chromium, as tests/browser uses it."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


# Properties are tried without a clock, which a busy machine would fail.
hypothesis.settings.register_profile("no-clock", deadline=None)
hypothesis.settings.load_profile("no-clock")

# At import, not in a fixture: conftest files further down may import models at their top.
STARTED = engines.start()
django.setup()

from django.conf import settings  # noqa: E402 - only readable from here on
from django.db import connection, transaction  # noqa: E402
from django.db.backends.signals import connection_created  # noqa: E402
from django.dispatch import receiver  # noqa: E402


def pytest_unconfigure() -> None:
    if STARTED:
        STARTED.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what this machine cannot run, unless this is CI, where all must run."""
    if browser() or os.environ.get("CI", "").lower() in ("1", "true"):
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(NO_BROWSER in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"NOT RUN: {count} browser tests: {NO_BROWSER}", yellow=True)


@pytest.fixture(scope="session")
def control_plane() -> Any:
    """Return the real control plane of this run; the first worker that asks starts it.

    All workers share it, so a test uses names of its own, or the xdist group of what it shares.
    """
    from cluster import Cluster

    folder = Path(os.environ[engines.MARK])
    with (folder / "cluster.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return Cluster.start(
            name="test", data=folder / "cluster", parent_pid=int(os.environ[engines.MAIN_PID])
        )


class Role:
    """Which role new connections of this process take."""

    active = False


@receiver(connection_created)
def take_role(connection: Any, **_: Any) -> None:
    if Role.active:
        set_role(connection)


def set_role(connection: Any) -> None:
    connection.cursor().execute(f"SET ROLE {settings.DATABASE_APP_ROLE}")


@pytest.fixture(autouse=True)
def app_role(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the test run as the application's role, also in threads that it starts."""
    marker = request.node.get_closest_marker("django_db")
    if not (marker or {"db", "transactional_db"} & set(request.fixturenames)):
        yield
        return
    request.getfixturevalue("_django_db_helper")
    connection.cursor().execute("SET session_replication_role = origin")
    if not request.node.get_closest_marker("owner"):
        set_role(connection)
        Role.active = True
    yield
    Role.active = False
    if not connection.in_atomic_block:
        become_owner()


def rows_of_a_file(blocker: Any, make: Callable[[], T]) -> Iterator[T]:
    """Make rows that all tests of a file share, as the application's role; the end undoes them.

    Each test then runs in a savepoint inside, so that none sees what another one has written.
    """
    with blocker.unblock(), transaction.atomic():
        connection.cursor().execute("SET session_replication_role = origin")
        set_role(connection)
        made = make()
        connection.cursor().execute("RESET ROLE")
        yield made
        transaction.set_rollback(True)


def become_owner() -> None:
    """Let the clean-up after a test empty every table, also those whose triggers forbid it.

    Not needed inside a transaction: its rollback takes the role back too.
    """
    connection.cursor().execute("RESET ROLE")
    connection.cursor().execute("SET session_replication_role = replica")
