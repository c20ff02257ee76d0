"""Topology: the levels from the widest domain to the narrowest."""

from __future__ import annotations

from kube.catalog import TopologySpec
from kube.manifest import Manifest
from kube.render.objects import build


def topology(spec: TopologySpec) -> Manifest:
    """Render one topology."""
    levels = [{"nodeLabel": level} for level in spec.levels]
    return build("Topology", spec.name, {"spec": {"levels": levels}})
