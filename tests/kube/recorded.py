"""Workloads that real releases of Kueue wrote, with what was around them."""

import json
from functools import cache
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
RELEASES = ("0.17.0", "0.19.2", "0.19.2-granular")


@cache
def _read(kind, release):
    return json.loads((FIXTURES / f"{kind}-{release}.json").read_text())


def workload(name, release="0.17.0"):
    return _read("workloads", release)[name]


def around(name, release="0.17.0"):
    """The objects around a workload, an empty list where none were recorded."""
    return _read("context", release).get(name, [])


def related(name, release="0.17.0"):
    """The same as what is passed to ``explain``."""
    kinds = {}
    for each in around(name, release):
        kinds.setdefault(each["kind"], []).append(each)
    found = {
        "local_queue": next(iter(kinds.get("LocalQueue", [])), None),
        "cluster_queue": next(iter(kinds.get("ClusterQueue", [])), None),
        "flavors": kinds.get("ResourceFlavor"),
        "checks": kinds.get("AdmissionCheck"),
        "pods": kinds.get("Pod"),
        "events": kinds.get("Event"),
    }
    return {key: value for key, value in found.items() if value is not None}


def names():
    """Every recorded (release, name)."""
    return [(release, name) for release in RELEASES for name in _read("workloads", release)]


def lines(file):
    text = (FIXTURES / file).read_text()
    return [line.split() for line in text.splitlines() if not line.startswith("#")]
