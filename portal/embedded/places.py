"""Folders, ports, users and locks for the embedded engines."""

import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

GUARD = Path(__file__).with_name("guard.py")
ROOT_HOME = Path("/var/lib/gpu-quota-portal")


class EngineError(Exception):
    """An embedded engine could not be started; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """The user an engine runs as."""

    uid: int
    gid: int


def is_root() -> bool:
    """Tell whether this process runs as root."""
    return os.geteuid() == 0


def account() -> Account:
    """Return the user for engines: oneself, or an unprivileged one when this is root.

    PostgreSQL refuses to run as root. `nobody` exists everywhere and owns nothing else, so no
    user has to be created on the machine.
    """
    if not is_root():
        return Account(os.geteuid(), os.getegid())
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_uid, entry.pw_gid)


def home() -> Path:
    """Return the folder for data and engines that lives as long as the installation.

    Root gets a folder outside its home: another user cannot pass through /root, and opening
    /root for the engine's sake would weaken the machine.
    """
    if is_root():
        return ROOT_HOME
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gpu-quota-portal"


def free_port() -> int:
    """Return a TCP port on loopback that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def reachable(path: Path, who: Account) -> bool:
    """Tell whether `who` may pass through every folder above `path`."""
    for folder in path.resolve().parents:
        info = folder.stat()
        bit = 0o001
        if info.st_uid == who.uid:
            bit = 0o100
        elif info.st_gid == who.gid:
            bit = 0o010
        if not info.st_mode & bit:
            return False
    return True


def engine_tree(source: Path, name: str, who: Account, parts: Sequence[str]) -> Path:
    """Return a folder with `parts` of `source` that `who` can run programs from.

    That is the installed package itself, or, when it lies behind a folder closed to `who`
    (a virtual environment below /root), one copy of it below `home()`.
    """
    if reachable(source / parts[0], who):
        return source
    target = home() / "engines" / name
    if target.is_dir():
        return target
    # Copy aside and rename, so that an interrupted copy is never taken for a whole one.
    fresh = target.with_name(f"{name}.{os.getpid()}")
    for part in parts:
        copy_tree(source / part, fresh / part)
    for folder in (home(), home() / "engines", fresh):
        folder.chmod(0o755)
    publish(fresh, target)
    return target


def copy_tree(source: Path, target: Path) -> None:
    """Copy one folder, readable and runnable by everybody."""
    shutil.copytree(source, target, symlinks=True)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))


def publish(fresh: Path, target: Path) -> None:
    """Rename `fresh` to `target`; another process may have been quicker, which is as good."""
    try:
        fresh.rename(target)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        if not target.is_dir():
            raise


def private_folder(path: Path, who: Account) -> Path:
    """Make the folder `path` and check that `who` can get there."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o711 if is_root() else 0o700)
    if not reachable(path / "x", who):
        message = (
            f"{path} lies behind a folder that the database's user cannot pass. "
            f"Choose a data folder outside, for instance below {home()}."
        )
        raise EngineError(message)
    return path


def write_secret(path: Path, text: str) -> None:
    """Write a file that only this user can read, never open to others for a moment."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.rename(path)


def lock(path: Path) -> IO[str]:
    """Take the lock file of a data folder, or say who has it."""
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        message = f"{path.parent} is in use by the process {holder}. Stop it first."
        raise EngineError(message) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def guarded(
    command: Sequence[str], who: Account | None = None, death: signal.Signals = signal.SIGTERM
) -> list[str]:
    """Return the command line that runs `command` under the guard."""
    user = who or Account(os.geteuid(), os.getegid())
    numbers = (os.getpid(), int(death), user.uid, user.gid)
    return [sys.executable, "-I", "-S", str(GUARD), *map(str, numbers), "--", *command]


def spawn(
    command: Sequence[str],
    log: Path,
    who: Account,
    death: signal.Signals,
    env: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start an engine in its own process group, writing to `log`."""
    with log.open("ab") as output:
        return subprocess.Popen(
            guarded(command, who, death),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=dict(env or {"PATH": os.defpath, "LC_ALL": "C"}),
            # Ctrl-C in the terminal must reach the supervisor alone, which stops in order.
            start_new_session=True,
        )


def same_port(process: "subprocess.Popen[bytes]", found: int, wanted: int) -> None:
    """End a server that had to take another port: nobody would look for it there."""
    if found != wanted:
        stop_process(process, signal.SIGKILL)
        message = f"port {wanted} is taken by another program"
        raise EngineError(message)


def stop_process(process: "subprocess.Popen[bytes]", signum: signal.Signals) -> None:
    """Ask a process to end, wait, and end it the hard way after 20 seconds."""
    if process.poll() is not None:
        return
    process.send_signal(signum)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    if not log.exists():
        return "(no log)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
