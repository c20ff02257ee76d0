"""Cohort: a department, its place in the tree, its weight and the quota of its own."""

from __future__ import annotations

from kube import keys
from kube.catalog import CohortSpec
from kube.manifest import Manifest
from kube.render.objects import build, set_only
from kube.render.resource_groups import resource_groups
from kube.weight import weight_text


def cohort(spec: CohortSpec) -> Manifest:
    """Render one department; the weight is always written, so ``spec`` is never empty."""
    optional = {"parentName": spec.parent, "resourceGroups": resource_groups(spec.quotas)}
    content = {"fairSharing": {"weight": weight_text(spec.weight)}, **set_only(optional)}
    annotations = {keys.DISPLAY_NAME: spec.display_name}
    return build("Cohort", spec.name, {"spec": content}, annotations=annotations)
