"""WorkloadPriorityClass: a number and the contract in words."""

from __future__ import annotations

from kube.catalog import PrioritySpec
from kube.manifest import Manifest
from kube.render.objects import build, set_only


def priority(spec: PrioritySpec) -> Manifest:
    """Render one priority; this kind has no ``spec``."""
    content = {**set_only({"description": spec.contract}), "value": spec.value}
    return build("WorkloadPriorityClass", spec.name, content)
