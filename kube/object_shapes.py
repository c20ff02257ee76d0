"""Is an object what it says it is? Names the field that is not, for people who typed a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kube.problems import Problem, problem

_OBJECT, _LIST, _TEXT, _YES_NO = "an object", "a list", "a text", "true or false"
_WORDS: Final = {
    bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list",
    dict: "an object", type(None): "null",
}  # fmt: skip

#: Path, what must stand there. ``[]`` is each element of a list; a path that is absent is fine.
_WORKLOAD: Final = (
    ("spec", _OBJECT),
    ("spec.active", _YES_NO),
    ("spec.queueName", _TEXT),
    ("spec.podSets", _LIST),
    ("spec.podSets[]", _OBJECT),
    ("spec.podSets[].name", _TEXT),
    ("spec.podSets[].template", _OBJECT),
    ("spec.podSets[].template.spec", _OBJECT),
    ("status", _OBJECT),
    ("status.conditions", _LIST),
    ("status.conditions[]", _OBJECT),
    ("status.conditions[].type", _TEXT),
    ("status.conditions[].status", _TEXT),
    ("status.conditions[].reason", _TEXT),
    ("status.conditions[].message", _TEXT),
    ("status.admission", _OBJECT),
    ("status.admissionChecks", _LIST),
    ("status.admissionChecks[]", _OBJECT),
    ("status.admissionChecks[].name", _TEXT),
    ("status.admissionChecks[].state", _TEXT),
    ("status.requeueState", _OBJECT),
    ("status.unhealthyNodes", _LIST),
)
_ANY: Final = (
    ("metadata", _OBJECT),
    ("metadata.name", _TEXT),
    ("metadata.namespace", _TEXT),
    ("metadata.deletionTimestamp", _TEXT),
    ("metadata.ownerReferences", _LIST),
)
_QUEUE: Final = (
    ("spec", _OBJECT),
    ("spec.stopPolicy", _TEXT),
    ("spec.resourceGroups", _LIST),
    ("spec.resourceGroups[]", _OBJECT),
    ("spec.resourceGroups[].flavors", _LIST),
    ("status", _OBJECT),
    ("status.conditions", _LIST),
)
_REST: Final = (("spec", _OBJECT), ("status", _OBJECT))
_SHAPES: Final = {
    "Workload": (*_ANY, *_WORKLOAD),
    "ClusterQueue": (*_ANY, *_QUEUE),
    "Cohort": (*_ANY, *_QUEUE),
    "LocalQueue": (*_ANY, *_QUEUE),
    "Pod": (*_ANY, *_REST),
    "Job": (*_ANY, *_REST),
    "AdmissionCheck": (*_ANY, *_REST),
    "ResourceFlavor": (*_ANY, ("spec", _OBJECT)),
}
#: These must have a name: nobody could say which of them is meant.
_REQUIRED: Final = ("metadata.name",)


def problems_of(where: str, found: Any) -> Iterator[Problem]:
    """Yield what is wrong with the form of an object, each with its field."""
    kind = found.get("kind") if isinstance(found, Mapping) else None
    if not isinstance(kind, str):
        expected = "a Kubernetes object with kind and metadata.name"
        got = _word(found) if not isinstance(found, Mapping) else "an object without kind"
        yield problem(where, "GP-2104", expected=expected, got=got)
        return
    shape = _SHAPES.get(kind)
    if shape is None:
        return
    for path in _REQUIRED:
        if not list(_values(found, path.split("."))):
            yield problem(f"{where}.{path}", "GP-2103")
    for path, expected in shape:
        for place, value in _values(found, path.split(".")):
            if value is not None and not _is(value, expected):
                yield problem(f"{where}{place}", "GP-2104", expected=expected, got=_word(value))


def _values(found: Any, path: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield what stands at the end of a path, with the place of each."""
    if not path:
        yield "", found
        return
    key = path[0].removesuffix("[]")
    if not isinstance(found, Mapping) or key not in found:
        return
    here = found[key]
    if key == path[0]:
        for place, value in _values(here, path[1:]):
            yield f".{key}{place}", value
        return
    for number, each in enumerate(here if isinstance(here, list) else ()):
        for place, value in _values(each, path[1:]):
            yield f".{key}[{number}]{place}", value


def _is(value: Any, expected: str) -> bool:
    return _word(value) == expected


def _word(value: Any) -> str:
    return _WORDS.get(type(value), "something else")
