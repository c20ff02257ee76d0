"""A rendered object, its reference and its digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kube.digest import digest


class Ref(NamedTuple):
    """What names an object in a cluster; ``namespace`` is empty for cluster-scoped kinds."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Write ``LocalQueue/nlp/nlp-gpu`` or ``ClusterQueue/nlp-train``."""
        return "/".join(part for part in self if part)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as it is applied. ``body`` is the whole JSON object; treat it as read-only."""

    api_version: str
    kind: str
    name: str
    namespace: str
    body: Mapping[str, Any] = field(hash=False)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Manifest:
        """Wrap a JSON object; names that are missing become empty."""
        found = body.get("metadata")
        metadata = found if isinstance(found, Mapping) else {}
        return cls(
            api_version=str(body.get("apiVersion", "")),
            kind=str(body.get("kind", "")),
            name=str(metadata.get("name", "")),
            namespace=str(metadata.get("namespace", "")),
            body=body,
        )

    @property
    def ref(self) -> Ref:
        """Return what names the object."""
        return Ref(self.kind, self.namespace, self.name)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON of the whole object."""
        return digest(self.body)
