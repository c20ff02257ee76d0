"""From files of objects to explanations: finds the Workloads, and what belongs to each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kube.explain import explain
from kube.explain_facts import Related
from kube.explain_job import explain_job
from kube.job_facts import MANAGED, framework
from kube.lenient import Object, items, mapping, text
from kube.manager_facts import Manager
from kube.object_shapes import problems_of
from kube.problems import InvalidCatalog, Problem, problem
from kube.reasons import Explanation

_MANAGER: Final = "kueue-controller-manager"
_CONFIGURATION: Final = "controller_manager_config.yaml"
_WORKLOAD_OF: Final = "kueue.x-k8s.io/workload"


@dataclass
class Given:
    """All objects of all files, by kind, each once."""

    kinds: dict[str, dict[tuple[str, str], Object]] = field(default_factory=dict)
    subjects: list[Object] = field(default_factory=list)

    def of(self, kind: str, namespace: str | None = None) -> list[Object]:
        """Return the objects of a kind, of one namespace or of all."""
        found = self.kinds.get(kind, {})
        return [each for (place, _), each in found.items() if namespace in (None, place)]

    def one(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Return one object."""
        return self.kinds.get(kind, {}).get((namespace, name))


def explain_files(files: Mapping[str, Any]) -> Any:
    """Explain the Workloads in parsed files; raise :class:`InvalidCatalog` for bad input.

    ``files``: by name, one object, a List or an array each. What is explained are the Workloads
    that stand alone in a file, or else those of the first file that holds any, or else the jobs
    of the first file. Everything else is what is known besides. One Workload gives one object
    ``{state, preempted, preempting, reasons}``, several give an array with their names.
    """
    given = _read(files)
    told = [_explained(given, each) for each in given.subjects]
    return told[0].as_json() if len(told) == 1 else [
        _named(each) | found.as_json() for each, found in zip(given.subjects, told, strict=True)
    ]  # fmt: skip


def _named(found: Object) -> dict[str, str]:
    meta = mapping(found, "metadata")
    return {
        "kind": text(found, "kind"), "namespace": text(meta, "namespace"), "name": text(meta, "name"),
    }  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------


def _read(files: Mapping[str, Any]) -> Given:
    problems: list[Problem] = []
    given, alone = Given(), []
    contents: list[list[Object]] = []
    for name, data in files.items():
        found = _objects(data)
        problems += [fault for number, each in enumerate(found)
                     for fault in problems_of(f"{name}[{number}]", each)]  # fmt: skip
        contents.append([each for each in found if isinstance(each, Mapping)])
        if found and found[0] is data and text(data, "kind") == "Workload":
            alone.append(data)
    if problems:
        raise InvalidCatalog(problems)
    for each in (each for content in contents for each in content):
        key = text(each, "metadata", "namespace"), text(each, "metadata", "name")
        given.kinds.setdefault(text(each, "kind"), {}).setdefault(key, each)
    given.subjects = alone or _first(contents, _is_workload) or _first(contents, _is_job)
    if not given.subjects:
        raise InvalidCatalog([problem(next(iter(files), ""), "GP-2220")])
    return given


def _objects(data: Any) -> Sequence[Any]:
    is_list = isinstance(data, Mapping) and isinstance(data.get("items"), list)
    found = data["items"] if is_list else data
    return found if isinstance(found, list) else [found]


def _first(contents: list[list[Object]], wanted: Any) -> list[Object]:
    found = ([each for each in content if wanted(each)] for content in contents)
    return next((each for each in found if each), [])


def _is_workload(found: Object) -> bool:
    return text(found, "kind") == "Workload"


def _is_job(found: Object) -> bool:
    return framework(text(found, "apiVersion"), text(found, "kind")) in MANAGED


# --- what belongs to what ---------------------------------------------------------------------------


def _explained(given: Given, subject: Object) -> Explanation:
    if _is_workload(subject):
        return explain(subject, **_related(given, subject))
    namespace = text(subject, "metadata", "namespace")
    return explain_job(
        subject,
        entries=_entries(given, namespace),
        namespace=given.one("Namespace", namespace),
        priority_classes=given.of("WorkloadPriorityClass") or None,
        events=_events(given, subject, []),
        manager=_manager(given),
    )


def _related(given: Given, workload: Object) -> Related:
    namespace = text(workload, "metadata", "namespace")
    entry = given.one("LocalQueue", text(workload, "spec", "queueName"), namespace)
    pods = list(_pods(given, workload))
    return Related(
        local_queue=entry,
        cluster_queue=_queue(given, workload, entry),
        entries=_entries(given, namespace),
        cluster_queues=given.of("ClusterQueue") or None,
        cohorts=given.of("Cohort") or None,
        flavors=given.of("ResourceFlavor") or None,
        checks=given.of("AdmissionCheck") or None,
        namespace=given.one("Namespace", namespace),
        limit_ranges=given.of("LimitRange", namespace) or None,
        pods=pods or None,
        events=_events(given, workload, pods),
        others=_others(given, workload, entry),
        manager=_manager(given),
    )


def _queue(given: Given, workload: Object, entry: Object | None) -> Object | None:
    name = text(workload, "status", "admission", "clusterQueue")
    name = name or text(entry, "spec", "clusterQueue")
    if name:
        return given.one("ClusterQueue", name)
    found = given.of("ClusterQueue")
    return found[0] if len(found) == 1 and entry is None else None


def _entries(given: Given, namespace: str) -> list[str] | None:
    found = given.of("LocalQueue", namespace)
    return [text(each, "metadata", "name") for each in found] or None


def _pods(given: Given, workload: Object) -> Iterator[Object]:
    """Yield its pods. Those of a job that grew still name the Workload that they began with."""
    name, owners = text(workload, "metadata", "name"), _owners(workload)
    for pod in given.of("Pod", text(workload, "metadata", "namespace")):
        named = text(pod, "metadata", "annotations", _WORKLOAD_OF)
        if named == name or (_owners(pod) | {_uid(pod)}) & owners:
            yield pod


def _owners(found: Object) -> set[str]:
    owners = items(found, "metadata", "ownerReferences")
    return {text(each, "uid") for each in owners} - {""}


def _uid(found: Object) -> str:
    return text(found, "metadata", "uid")


def _events(given: Given, subject: Object, pods: list[Object]) -> list[Object]:
    """Return the events about a workload or job, its owners and its pods."""
    owners = items(subject, "metadata", "ownerReferences")
    about = {(text(each, "kind"), text(each, "name")) for each in owners}
    for each in (subject, *pods):
        about.add((text(each, "kind"), text(each, "metadata", "name")))
    return [
        event for event in given.of("Event")
        if any(
            (text(event, key, "kind"), text(event, key, "name")) in about
            for key in ("regarding", "involvedObject")
        )
    ]  # fmt: skip


def _others(given: Given, workload: Object, entry: Object | None) -> list[Object] | None:
    """Return the other Workloads of the same ClusterQueue, ``None`` if none were given."""
    target = text(entry, "spec", "clusterQueue")
    others = [
        each for each in given.of("Workload")
        if each is not workload and target
        and text(_entry_of(given, each), "spec", "clusterQueue") == target
    ]  # fmt: skip
    return others or None


def _entry_of(given: Given, workload: Object) -> Object | None:
    namespace = text(workload, "metadata", "namespace")
    return given.one("LocalQueue", text(workload, "spec", "queueName"), namespace)


def _manager(given: Given) -> Manager | None:
    """Read Kueue's configuration, where its ConfigMap or its Deployment was given."""
    maps = given.of("ConfigMap")
    configuration = next(
        (found for each in maps if (found := text(each, "data", _CONFIGURATION))), ""
    )
    image = next(
        (
            text(each, "image")
            for found in given.of("Deployment")
            if text(found, "metadata", "name").endswith(_MANAGER)
            for each in items(found, "spec", "template", "spec", "containers")
        ),
        "",
    )
    version = image.rpartition(":")[2]
    return (
        Manager.read(version=version, configuration=configuration)
        if configuration or image
        else None
    )
