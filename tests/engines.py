"""PostgreSQL and Redis of one test run: started once, before Django reads its settings."""

import contextlib
import os
import secrets
import shutil
import tempfile
from pathlib import Path

from portal.embedded import Postgres, Redis
from portal.embedded.postgres import OWNER, SUPERUSER, connect

PREFIX = "gpuportal-test-"
MARK = "GPUPORTAL_TEST_RUN"
MAIN_PID = "GPUPORTAL_TEST_PID"


def sweep() -> None:
    """Remove what runs have left behind that were killed; their servers ended with them."""
    for note in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/pid"):
        with contextlib.suppress(OSError, ValueError):
            if note.stat().st_uid == os.getuid() and not Path(f"/proc/{note.read_text()}").exists():
                shutil.rmtree(note.parent, ignore_errors=True)


class Engines:
    """The servers of this run, when this is the process that started them."""

    def __init__(self) -> None:
        sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.folder.chmod(0o711)
        (self.folder / "pid").write_text(str(os.getpid()))
        self.postgres = Postgres.start(self.folder / "postgres", durable=False)
        self.redis = Redis.start(self.folder / "redis", durable=False)
        with connect(self.postgres.port, self.postgres.passwords[SUPERUSER]) as superuser:
            # Lets the clean-up after a test empty tables whose triggers forbid it.
            superuser.execute(f"GRANT SET ON PARAMETER session_replication_role TO {OWNER}")
        os.environ |= {
            MARK: str(self.folder),
            MAIN_PID: str(os.getpid()),
            "DJANGO_SETTINGS_MODULE": "portal.settings.test",
            "GPUPORTAL_DATABASE_OWNER_URL": self.postgres.owner_url,
            "GPUPORTAL_DATABASE_URL": self.postgres.app_url,
            "GPUPORTAL_REDIS_URL": self.redis.url,
            "GPUPORTAL_HTTPS": "0",
            "GPUPORTAL_ALLOWED_HOSTS": "localhost,127.0.0.1",
            "GPUPORTAL_CLUSTER_NETWORKS": "127.0.0.0/8",
            "GPUPORTAL_SECRET_KEY": secrets.token_urlsafe(64),
            "GPUPORTAL_LOG_LEVEL": "WARNING",
        }

    def stop(self) -> None:
        self.stop_cluster()
        self.redis.stop()
        self.postgres.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop_cluster(self) -> None:
        """Take the control plane down when a test has asked for it."""
        data = self.folder / "cluster"
        if data.is_dir():
            from cluster import Cluster, NotRunningError

            with contextlib.suppress(NotRunningError):
                Cluster(data).stop()


def start() -> Engines | None:
    """Start them, or return None in a worker of pytest-xdist, which uses its parent's.

    Each worker gets a Redis database of its own: a Celery worker that a test starts must not
    take the wake-ups of another test.
    """
    if MARK not in os.environ:
        return Engines()
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    url = os.environ["GPUPORTAL_REDIS_URL"]
    os.environ["GPUPORTAL_REDIS_URL"] = f"{url.rsplit('/', 1)[0]}/{number + 1}"
    return None
