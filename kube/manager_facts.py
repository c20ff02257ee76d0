"""How Kueue's manager is set up, as far as an explanation needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Self

import yaml

from kube.lenient import Object, text, texts

#: What Kueue leaves out of the namespaces it looks at, where the configuration says nothing.
_EXCLUDED: Final = frozenset({"kube-system", "kueue-system"})
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_UNIT: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
#: From this release on the manager waits 30 minutes for pods when nothing is configured.
_WAITS_BY_DEFAULT: Final = (0, 19)
_DEFAULT_WAIT: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Manager:
    """What is known of the manager; ``None`` and empty are not known.

    ``frameworks``: the integrations that are on. ``pods_ready_within``: after that time a job
    whose pods are not ready is evicted.
    """

    version: tuple[int, ...] = ()
    frameworks: frozenset[str] | None = None
    without_queue_name: bool | None = None
    namespaces: Object | None = None
    pods_ready_within: timedelta | None = None
    block_admission: bool | None = None
    served: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def read(cls, *, version: str = "", configuration: str = "") -> Self:
        """Read the version of the manager and the text of its configuration file."""
        release = tuple(int(number[:6]) for number in re.findall(r"\d+", version)[:3])
        found = _configuration(configuration)
        if found is None:
            waits = release[:2] >= _WAITS_BY_DEFAULT if release else False
            return cls(version=release, pods_ready_within=_DEFAULT_WAIT if waits else None)
        ready = found.get("waitForPodsReady")
        return cls(
            version=release,
            frameworks=_frameworks(found),
            without_queue_name=found.get("manageJobsWithoutQueueName") is True,
            namespaces=_selector(found),
            pods_ready_within=_wait(ready, release),
            block_admission=isinstance(ready, Mapping) and ready.get("blockAdmission") is True,
        )


def _configuration(configuration: str) -> Object | None:
    try:
        found: Any = yaml.safe_load(configuration) if configuration else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def _frameworks(found: Object) -> frozenset[str]:
    """Without a list Kueue looks at batch Jobs alone."""
    written = texts(found, "integrations", "frameworks") or ["batch/job"]
    return frozenset((*written, *texts(found, "integrations", "externalFrameworks")))


def _selector(found: Object) -> Object | None:
    selector = found.get("managedJobsNamespaceSelector")
    if isinstance(selector, Mapping):
        return selector
    names = sorted(_EXCLUDED)
    key = "kubernetes.io/metadata.name"
    return {"matchExpressions": [{"key": key, "operator": "NotIn", "values": names}]}


def _wait(ready: object, release: tuple[int, ...]) -> timedelta | None:
    if not isinstance(ready, Mapping):
        return _DEFAULT_WAIT if release[:2] >= _WAITS_BY_DEFAULT else None
    if ready.get("enable") is False:
        return None
    return duration(text(ready, "timeout")) or timedelta(minutes=5)


def duration(written: str) -> timedelta | None:
    """Read a Go duration such as ``1h30m``, ``None`` for anything else."""
    parts = _PART.findall(written)
    if not parts or "".join(number + unit for number, unit in parts) != written:
        return None
    return timedelta(seconds=min(sum(float(n) * _UNIT[u] for n, u in parts), 10.0**9))
