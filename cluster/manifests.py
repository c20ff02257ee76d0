"""The objects of Kueue and the job kinds, rendered from the pinned modules into the cache.

Nothing is copied into the project: Helm renders Kueue's chart as it lies in Go's module cache.
Helm also turns YAML into JSON (its template language has both), so no YAML parser is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster import paths
from cluster.build import Say, Toolchain, key_of_pin, locked, say

Manifest = dict[str, Any]

# Raised when the rendering itself changes: an older result in the cache is then made anew.
FORMAT = 1
LEFT_OUT = ("Deployment", "PodDisruptionBudget")

_CRDS = (
    (
        "github.com/kubeflow/training-operator",
        "manifests/base/crds/kubeflow.org_pytorchjobs.yaml",
    ),
    ("sigs.k8s.io/jobset", "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
)
_STAGES = (
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "kustomize/stage/pod/general/pod-create.yaml",
    "kustomize/stage/pod/general/pod-init-container-running.yaml",
    "kustomize/stage/pod/general/pod-init-container-completed.yaml",
    "kustomize/stage/pod/general/pod-ready.yaml",
    "kustomize/stage/pod/general/pod-complete.yaml",
    "kustomize/stage/pod/general/pod-delete.yaml",
)
# A chart that does nothing but turn each document in files/ into one line of JSON.
_TO_JSON = """{{- range $path, $_ := .Files.Glob "files/*.yaml" }}
{{ $.Files.Get $path | fromYaml | toJson }}
{{- end }}
"""


@dataclass(frozen=True)
class Rendered:
    """What an instance applies (objects) and what kwok reads (stages)."""

    objects: list[Manifest]
    stages: list[Manifest]


def split_documents(text: str) -> list[str]:
    """Return the documents of a YAML stream that hold more than comments."""
    parts = re.split(r"(?m)^---.*$", text)
    return [part for part in parts if re.search(r"(?m)^[^#\s]", part)]


def _helm(helm: Path, *arguments: str) -> str:
    with tempfile.TemporaryDirectory(prefix="gpuportal-helm-") as home:
        # Its own empty home: a user's Helm plugins and repositories have no say here.
        env = os.environ | {
            "HELM_CACHE_HOME": home,
            "HELM_CONFIG_HOME": home,
            "HELM_DATA_HOME": home,
        }
        done = subprocess.run(
            [str(helm), *arguments], env=env, capture_output=True, text=True, check=False
        )
    if done.returncode:
        msg = f"helm {arguments[0]} failed: {done.stderr.strip()[-2000:]}"
        raise RuntimeError(msg)
    return done.stdout


def to_json(helm: Path, documents: Iterable[str]) -> list[Manifest]:
    """Parse YAML documents with Helm's own parser."""
    with tempfile.TemporaryDirectory(prefix="gpuportal-yaml-") as folder:
        chart = Path(folder)
        (chart / "templates").mkdir()
        (chart / "files").mkdir()
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: json\nversion: 0.0.1\n")
        (chart / "templates" / "all.txt").write_text(_TO_JSON)
        for number, document in enumerate(documents):
            (chart / "files" / f"{number:04}.yaml").write_text(document)
        lines = _helm(helm, "template", "json", str(chart)).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def module_dir(tools: Toolchain, pin: str, module: str) -> Path:
    """Return where Go keeps the source of a pinned module, fetched first where it is missing."""
    for command in (["list", "-m", "-json"], ["mod", "download", "-json"]):
        done = subprocess.run(
            [tools.go, *command, module],
            cwd=paths.PINS / pin,
            env=tools.env,
            capture_output=True,
            text=True,
            check=False,
        )
        folder = json.loads(done.stdout).get("Dir") if done.returncode == 0 else None
        if folder and Path(folder).is_dir():
            return Path(folder)
    msg = f"the source of {module} is not to be had: {done.stderr.strip()[-500:]}"
    raise RuntimeError(msg)


def _render(helm: Path, tools: Toolchain) -> Rendered:
    chart = module_dir(tools, "kueue", "sigs.k8s.io/kueue") / "charts" / "kueue"
    text = _helm(helm, "template", "kueue", str(chart), "--namespace", "kueue-system")
    documents = split_documents(text)
    for module, path in _CRDS:
        documents += split_documents((module_dir(tools, "kueue", module) / path).read_text())
    objects = [o for o in to_json(helm, documents) if o and o["kind"] not in LEFT_OUT]
    kwok = module_dir(tools, "kwok", "sigs.k8s.io/kwok")
    stages = to_json(helm, [(kwok / path).read_text() for path in _STAGES])
    return Rendered(objects, stages)


def rendered(helm: Path, tools: Toolchain, cache: Path, tell: Say = say) -> Rendered:
    """Return the rendered objects from the cache, rendered now where the pins are new."""
    mark = "\0".join([str(FORMAT), *(key_of_pin(pin) for pin in ("kueue", "kwok", "helm"))])
    path = cache / f"manifests-{hashlib.sha256(mark.encode()).hexdigest()[:16]}.json"
    if not path.exists():
        with locked(cache / "build.lock", tell):
            tell("rendering Kueue's chart")
            result = _render(helm, tools)
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps({"objects": result.objects, "stages": result.stages}))
            os.replace(partial, path)
    found = json.loads(path.read_text())
    return Rendered(found["objects"], found["stages"])
