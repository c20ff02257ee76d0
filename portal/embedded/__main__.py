"""Run one command with PostgreSQL and Redis beside it.

    python -m portal.embedded [--data FOLDER] manage.py makemigrations

Without a folder the servers are new and thrown away at the end. A command that ends in `.py` is
run by this Python.
"""

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from portal.embedded import EngineError, Postgres, Redis


def environment(postgres: Postgres, redis: Redis) -> dict[str, str]:
    """Return the variables of a portal on this machine that uses these servers."""
    return {
        "GPUPORTAL_DATABASE_OWNER_URL": postgres.owner_url,
        "GPUPORTAL_DATABASE_URL": postgres.app_url,
        "GPUPORTAL_REDIS_URL": redis.url,
        "GPUPORTAL_HTTPS": "0",
        "GPUPORTAL_ALLOWED_HOSTS": "localhost,127.0.0.1",
        "GPUPORTAL_SECRET_KEY": secrets.token_urlsafe(64),
    }


def run(command: list[str], folder: Path) -> int:
    """Start the servers, run the command, stop the servers, return the command's exit code."""
    postgres = Postgres.start(folder / "postgres", durable=False)
    try:
        redis = Redis.start(folder / "redis", durable=False)
        try:
            extra = environment(postgres, redis)
            if command[0].endswith(".py"):
                command = [sys.executable, *command]
            return subprocess.run(command, env={**os.environ, **extra}, check=False).returncode
        finally:
            redis.stop()
    finally:
        postgres.stop()


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(prog="python -m portal.embedded", description=__doc__)
    parser.add_argument("--data", type=Path, help="keep the data in this folder")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("name a command to run")
    folder = arguments.data or Path(tempfile.mkdtemp(prefix="gpuportal-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    try:
        return run(arguments.command, folder.resolve())
    except EngineError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        if not arguments.data:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
