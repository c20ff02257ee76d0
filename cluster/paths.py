"""Where the cluster keeps what it builds and what it stores: never inside the checkout."""

from __future__ import annotations

import os
import re
from pathlib import Path

PINS = Path(__file__).resolve().parent / "pins"
CHILD = PINS.parent / "child.py"
APP = "gpu-quota-portal"
DEFAULT_NAME = "demo"

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG rules say that a relative path is to be ignored.
    return Path(value) if os.path.isabs(value) else Path.home() / fallback


def cache_dir() -> Path:
    """Return the folder of built binaries; several instances and checkouts share it."""
    return _xdg("XDG_CACHE_HOME", ".cache") / APP


def built() -> bool:
    """Return whether this machine has built some of the binaries before."""
    return any(cache_dir().glob("bin-*"))


def state_dir() -> Path:
    """Return the folder below which every instance keeps its data."""
    return _xdg("XDG_STATE_HOME", ".local/state") / APP


def check_name(name: str) -> str:
    """Return the instance name, or raise ValueError where it cannot be a folder name."""
    if not _NAME.fullmatch(name):
        msg = f"cluster name {name!r}: use 1 to 40 of a-z, 0-9 and '-'"
        raise ValueError(msg)
    return name


def data_dir(name: str = DEFAULT_NAME, data: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder of an instance: the one asked for, or the one of its name."""
    check_name(name)
    if data is not None:
        return Path(data).expanduser().absolute()
    return state_dir() / "clusters" / name


def make_private(folder: Path) -> Path:
    """Make a folder that only its owner can enter; one that exists is left as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder
