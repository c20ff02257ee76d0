"""The embedded engines: data survives, nothing is left running, leftovers do no harm."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pytest
import redis as redis_client

from portal.embedded import EngineError, Postgres, Redis, places
from portal.embedded.postgres import APP, OWNER
from tests.stack import wait_for

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder():
    """A folder that the database's own user can reach, as `home()` is; tmp_path is closed."""
    made = Path(tempfile.mkdtemp(prefix="gpuportal-embedded-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def occupied(port: int) -> socket.socket | None:
    with contextlib.suppress(OSError):
        return socket.create_server(("127.0.0.1", port))
    return None


def gone(pid: int, seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def one(url: str, query: str):
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchone()


def start_and_hang(code: str, folder: Path) -> tuple[subprocess.Popen, str]:
    """Start an engine in a process of its own; return that process and its first line."""
    script = f"from pathlib import Path\nfrom portal.embedded import *\nfolder = Path({str(folder)!r})\n{code}"
    parent = subprocess.Popen(
        [sys.executable, "-c", script + "\nimport time; time.sleep(600)"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    return parent, parent.stdout.readline().strip()


def test_keeps_data_and_passwords_over_a_restart(folder):
    first = Postgres.start(folder)
    with psycopg.connect(first.owner_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    first.stop()

    second = Postgres.start(folder)

    try:
        assert one(second.owner_url, "SELECT answer FROM kept") == (42,)
        assert second.passwords == first.passwords
    finally:
        second.stop()


@pytest.mark.fault
def test_postgres_ends_with_a_parent_that_is_killed_and_starts_again(folder):
    parent, pid = start_and_hang("print(Postgres.start(folder).process.pid, flush=True)", folder)

    parent.kill()
    parent.wait()

    again = Postgres.start(folder)
    try:
        assert gone(int(pid))
        assert one(again.app_url, "SELECT 1") == (1,)
    finally:
        again.stop()
        parent.stdout.close()


@pytest.mark.fault
def test_starts_after_the_server_itself_was_killed(folder):
    server = Postgres.start(folder)
    server.process.kill()
    server.process.wait()
    server.lock.close()

    again = Postgres.start(folder)

    try:
        assert one(again.app_url, "SELECT 1") == (1,)
    finally:
        again.stop()


@pytest.mark.fault
@pytest.mark.parametrize("engine", [Postgres, Redis])
def test_a_server_that_was_killed_comes_back_where_it_was(folder, engine):
    server = engine.start(folder)
    port = server.port
    try:
        assert server.again() is False
        server.process.kill()
        server.process.wait()
        assert server.again() is True
        assert server.port == port
        assert server.process.poll() is None
        server.process.kill()
        server.process.wait()
        # The children of a server that was killed let go of the port a moment later.
        with (
            wait_for(lambda: occupied(port)),
            pytest.raises(EngineError, match=f"port {port} is taken"),
        ):
            server.again()
    finally:
        server.stop()


def test_takes_a_pid_of_something_else_for_stale(folder):
    server = Postgres.start(folder)
    server.stop()
    (folder / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n{folder / 'data'}\n")

    again = Postgres.start(folder)

    again.stop()


def test_refuses_a_folder_that_is_in_use(folder):
    server = Postgres.start(folder)
    try:
        with pytest.raises(EngineError, match=f"in use by the process {os.getpid()}"):
            Postgres.start(folder)
    finally:
        server.stop()


def test_makes_the_data_again_after_an_interrupted_start(folder):
    (folder / "data").mkdir()
    (folder / "data" / "half").write_text("written when the power went")

    server = Postgres.start(folder)

    server.stop()


def test_the_server_is_not_root_and_its_files_are_closed(folder):
    server = Postgres.start(folder)
    try:
        assert Path(f"/proc/{server.process.pid}").stat().st_uid != 0
        assert (folder / "data").stat().st_mode & 0o077 == 0
        assert (folder / "passwords.json").stat().st_mode & 0o077 == 0
        command = Path(f"/proc/{server.process.pid}/cmdline").read_text()
        assert not any(password in command for password in server.passwords.values())
    finally:
        server.stop()


def test_nobody_gets_in_without_the_password(folder):
    server = Postgres.start(folder)
    try:
        wrong = server.app_url.replace(server.passwords[APP], "guess")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            one(wrong, "SELECT 1")
        assert one(server.url(OWNER), "SELECT current_user") == (OWNER,)
    finally:
        server.stop()


def test_redis_keeps_data_over_a_restart(folder):
    first = Redis.start(folder)
    with redis_client.Redis.from_url(first.url) as client:
        client.set("kept", "42")
    first.stop()

    second = Redis.start(folder)

    try:
        with redis_client.Redis.from_url(second.url) as client:
            assert client.get("kept") == b"42"
    finally:
        second.stop()


def test_redis_asks_for_the_password(folder):
    server = Redis.start(folder)
    try:
        with (
            redis_client.Redis(port=server.port) as client,
            pytest.raises(redis_client.AuthenticationError),
        ):
            client.ping()
        assert server.password not in Path(f"/proc/{server.process.pid}/cmdline").read_text()
    finally:
        server.stop()


@pytest.mark.fault
def test_redis_ends_with_a_parent_that_is_killed(folder):
    parent, pid = start_and_hang("print(Redis.start(folder).process.pid, flush=True)", folder)

    parent.kill()
    parent.wait()

    assert gone(int(pid))
    parent.stdout.close()


@pytest.mark.skipif(not places.is_root(), reason="only root has to give its rights away")
def test_root_is_told_when_the_folder_is_out_of_reach(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(EngineError, match="Choose a data folder outside"):
        Postgres.start(closed / "postgres")


def test_runs_a_command_with_servers_beside_it():
    done = subprocess.run(
        [sys.executable, "-m", "portal.embedded", "manage.py", "migrate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if "GPUPORTAL" not in name},
    )

    # 1 is Django's "there are migrations to apply": the owner could look at the new database.
    assert done.returncode == 1, done.stderr
    assert "cannot start" not in done.stderr
