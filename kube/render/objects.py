"""What all rendered objects share: their head, and values that are left out when not set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kube import keys
from kube.manifest import Manifest

KUEUE: Final = "kueue.x-k8s.io/v1beta2"

JSON = dict[str, Any]


def build(
    kind: str,
    name: str,
    content: Mapping[str, Any],
    *,
    namespace: str = "",
    api_version: str = KUEUE,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """Put a head with the portal's labels on the content of an object."""
    own = {keys.MANAGED_BY: keys.MANAGED_BY_VALUE, keys.MANAGED: keys.MANAGED_VALUE}
    metadata: JSON = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = dict(sorted({**own, **set_only(labels or {})}.items()))
    noted = dict(sorted(set_only(annotations or {}).items()))
    if noted:
        metadata["annotations"] = noted
    body = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
    return Manifest(api_version, kind, name, namespace, body)


def set_only(values: Mapping[str, Any]) -> JSON:
    """Leave out what is not set: ``None``, empty texts and empty lists."""
    return {key: value for key, value in values.items() if value not in (None, "", [], {})}
