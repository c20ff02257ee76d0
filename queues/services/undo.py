"""Take a committed change back out of a catalog without touching what others changed since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kube import catalog_json
from kube.catalog import Catalog

_ABSENT: Final = object()
_KEYS: Final = (("name", "namespace"), ("flavor", "resource"), ("slug",), ("name",))


class Overlap(ValueError):
    """A value of the change has been changed again by somebody else; ``path`` says which."""

    def __init__(self, path: str) -> None:
        """Keep where."""
        self.path = path
        super().__init__(path)


def undone(head: Catalog, *, before: Catalog, after: Catalog) -> Catalog:
    """Return ``head`` with every value that went from ``before`` to ``after`` set back.

    What the change added stays, unless it is a quota line: nothing is removed by an undo.
    """
    merged = _merge(
        catalog_json.dump(head), catalog_json.dump(before), catalog_json.dump(after), ""
    )
    return catalog_json.load(merged)


def _merge(now: Any, old: Any, new: Any, path: str) -> Any:
    if old == new or now == old:
        return now
    if isinstance(new, Mapping) and isinstance(old, Mapping) and isinstance(now, Mapping):
        return _merge_objects(now, old, new, path)
    if now is not _ABSENT and all(_is_keyed(each) for each in (now, old, new)):
        return _merge_lists(now, old, new, path)
    if now != new:
        raise Overlap(path)
    return old


def _merge_objects(
    now: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], path: str
) -> dict[str, Any]:
    merged = {}
    for name in dict.fromkeys((*now, *old)):
        inner = f"{path}.{name}" if path else name
        value = _merge(
            now.get(name, _ABSENT), old.get(name, _ABSENT), new.get(name, _ABSENT), inner
        )
        if value is not _ABSENT:
            merged[name] = value
    return merged


def _merge_lists(now: Any, old: Any, new: Any, path: str) -> list[Any]:
    present, before, after = (_by_key(each) for each in (now, old, new))
    merged = []
    for key, item in present.items():
        if key in before or key not in after:
            value = _merge(item, before.get(key, item), after.get(key, item), f"{path}[{key}]")
            merged.append(value)
        elif not _is_line(item):
            merged.append(item)
        elif item != after[key]:
            raise Overlap(f"{path}[{key}]")
    gone = [item for key, item in before.items() if key not in after and key not in present]
    return [*merged, *(item for item in gone if _is_line(item))]


def _is_keyed(value: Any) -> bool:
    if value is _ABSENT:
        return True
    return isinstance(value, list) and all(_key(item) is not None for item in value)


def _by_key(value: Any) -> dict[str, Any]:
    return {} if value is _ABSENT else {str(_key(item)): item for item in value}


def _key(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return None
    for names in _KEYS:
        if all(isinstance(item.get(name), str) for name in names):
            return "/".join(item[name] for name in names)
    return None


def _is_line(item: Mapping[str, Any]) -> bool:
    return "flavor" in item and "resource" in item
