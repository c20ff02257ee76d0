"""Free ports on loopback, below the range that the kernel gives to outgoing connections."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

LOWEST = 15000
HIGHEST = 32767
NAMES = (
    "etcd",
    "etcd-peer",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "kueue-webhook",
    "kueue-visibility",
    "kueue-metrics",
    "kueue-health",
)


def is_free(port: int) -> bool:
    """Return whether a server could listen on the port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Go's servers do: connections that are just closing must not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def pick(
    names: Iterable[str] = NAMES,
    before: Mapping[str, int] | None = None,
    taken: Iterable[int] = (),
    source: random.Random | None = None,
) -> dict[str, int]:
    """Choose a port for every name: the one from before where it is still free.

    The search starts at a random place, so that two instances that start at the same moment
    hardly ever look at the same ports.
    """
    source = source or random.Random()  # noqa: S311 no secret, only a place to begin
    used = set(taken)
    chosen: dict[str, int] = {}
    for name in names:
        wish = (before or {}).get(name, 0)
        if LOWEST <= wish <= HIGHEST and wish not in used and is_free(wish):
            chosen[name] = wish
            used.add(wish)
    for name in names:
        if name not in chosen:
            chosen[name] = _search(source.randint(LOWEST, HIGHEST), used)
            used.add(chosen[name])
    return chosen


def _search(start: int, used: set[int]) -> int:
    count = HIGHEST - LOWEST + 1
    for step in range(count):
        port = LOWEST + (start - LOWEST + step) % count
        if port not in used and is_free(port):
            return port
    msg = f"no free port between {LOWEST} and {HIGHEST}"
    raise OSError(msg)


def keep(path: Path) -> dict[str, int]:
    """Choose the ports of an instance and remember them in its data folder."""
    before: dict[str, int] = {}
    if path.exists():
        before = {str(k): int(v) for k, v in json.loads(path.read_text()).items()}
    chosen = pick(before=before)
    path.write_text(json.dumps(chosen, indent=2) + "\n")
    return chosen
