"""Make the virtual environment of this lock file, once.

python .ci/environment.py path CACHE     prints where it is
python .ci/environment.py setup CACHE    makes it, or goes on where an interrupted run stopped

Runs with the Python that the environment will use, before anything is installed.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "dev.txt"
OLDEST = (3, 11)


def path(cache: Path) -> Path:
    """Return the folder that belongs to this lock file and this Python."""
    python = f"{sys.implementation.cache_tag} {sys.base_prefix}"
    digest = hashlib.sha256(LOCK.read_bytes() + python.encode()).hexdigest()
    return cache / f"venv-{digest[:12]}"


def setup(cache: Path) -> None:
    """Make the environment when its last step has not been reached yet."""
    if sys.version_info < OLDEST:
        have = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"This is Python {have}; 3.11 or newer is needed. Try: make PYTHON=python3.11 ...")
    folder = path(cache)
    done = folder / "installed"
    if done.exists():
        return
    cache.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once: the second one waits
        if not done.exists():
            install(folder)
            done.touch()


def install(folder: Path) -> None:
    """Create the environment and install the locked packages; pip keeps what it has."""
    sys.stderr.write(f"Installing into {folder} (once, about two minutes)\n")
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "venv", str(folder))
    options = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
    run(str(python), "-m", "pip", "install", *options, "-r", str(LOCK))
    run(str(python), "-m", "pip", "check", "--disable-pip-version-check")


def run(*command: str) -> None:
    """Run a step; its failure ends the set-up and says how to go on."""
    environment = {**os.environ, "PIP_NO_INPUT": "1"}
    done = subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=False)
    if done.returncode:
        sys.exit(f"This step failed: {' '.join(command)}\nRun make setup again to go on.")


def main(arguments: list[str]) -> None:
    """Do what was asked."""
    verb, cache = arguments
    if verb == "path":
        sys.stdout.write(f"{path(Path(cache))}\n")
    else:
        setup(Path(cache))


if __name__ == "__main__":
    main(sys.argv[1:])
