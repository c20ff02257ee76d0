"""The JSON form of a catalog: strict reading, canonical writing.

Devices are integers, CPU and memory are strict quantity texts, a limit that is absent or null
is not set, and node labels are an object. Reading collects every problem with its field before
it refuses; nothing is guessed, coerced or ignored.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import (
    Any,
    Final,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from kube import quantity
from kube.catalog import CPU, MEMORY, Catalog, FlavorSpec
from kube.problems import InvalidCatalog, Problem, Refused, problem, shown

MAX_BYTES: Final = 5_000_000
MAX_DEPTH: Final = 32
MAX_DIGITS: Final = 20

#: The fields that hold a quantity of a known resource; the quota lines name theirs beside them.
UNITS: Final[Mapping[tuple[type, str], str]] = {
    (FlavorSpec, "cpu_per_device"): CPU,
    (FlavorSpec, "memory_per_device"): MEMORY,
    (FlavorSpec, "capacity"): "devices",
}
QUOTA_NUMBERS: Final = frozenset({"nominal", "borrowing_limit", "lending_limit"})

_IDENTITIES: Final = (("namespace", "name"), ("flavor", "resource"), ("name",), ("slug",))
_BRACKETS = re.compile(r'"(?:\\.|[^"\\])*"|([\[{])|([\]}])', re.DOTALL)
_BAD: Final = object()
_JSON_TYPES: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a decimal number",
    str: "a text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_TYPES: dict[type, Mapping[str, Any]] = {}

T = TypeVar("T")


def loads(text: str | bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    """Read JSON text; refuse double keys, NaN, huge numbers, deep nesting and large files."""
    if len(text) > max_bytes:
        raise InvalidCatalog([problem("", "GP-2107", limit=max_bytes, unit="bytes")])
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        _check_depth(decoded)
        data = json.loads(
            decoded,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
        _check_characters(decoded, data)
    except UnicodeDecodeError as error:
        detail = f"byte {error.start} is not UTF-8"
        raise InvalidCatalog([problem("", "GP-2101", detail=detail)]) from None
    except json.JSONDecodeError as error:
        detail = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise InvalidCatalog([problem("", "GP-2101", detail=detail)]) from None
    except Refused as error:
        raise InvalidCatalog([error.at("")]) from None
    return data


def load(data: Any) -> Catalog:
    """Read a catalog from parsed JSON; raise :class:`InvalidCatalog` with all problems."""
    return decode(Catalog, data)


def dump(catalog: Catalog) -> dict[str, Any]:
    """Write a catalog as JSON values; what is not set (null, empty) is left out."""
    written: dict[str, Any] = encode(catalog)
    return written


def decode(cls: type[T], data: Any, field: str = "") -> T:
    """Read one dataclass of this package, strictly, from parsed JSON found at ``field``."""
    problems: list[Problem] = []
    value = _record(cls, data, field, problems)
    if problems:
        raise InvalidCatalog(problems)
    result: T = value
    return result


def encode(value: Any) -> Any:
    """Write a dataclass of this package as JSON values."""
    shown_fields = ((each, getattr(value, each.name)) for each in dataclasses.fields(value))
    return {
        each.name: _written(value, each.name, inner)
        for each, inner in shown_fields
        if not _unset(each, inner)
    }


def unit(cls: type, name: str, beside: Mapping[str, Any]) -> str | None:
    """Return the resource in whose unit a field counts; ``None`` for plain numbers."""
    if name in QUOTA_NUMBERS and "resource" in field_types(cls):
        resource = beside.get("resource")
        return resource if isinstance(resource, str) else "devices"
    return UNITS.get((cls, name))


def field_types(cls: type) -> Mapping[str, Any]:
    """Return the resolved annotations of a dataclass."""
    if cls not in _TYPES:
        hints = get_type_hints(cls)
        _TYPES[cls] = {each.name: hints[each.name] for each in dataclasses.fields(cls)}
    return _TYPES[cls]


def required(cls: type) -> tuple[str, ...]:
    """Return the fields without a default."""
    return tuple(
        each.name for each in dataclasses.fields(cls) if each.default is dataclasses.MISSING
    )


def choices(kind: Any) -> tuple[str, ...] | None:
    """Return the allowed texts of an enumeration or literal type, or ``None``."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return tuple(each.value for each in kind)
    return None


def optional(kind: Any) -> tuple[Any, bool]:
    """Split ``X | None`` into ``X`` and whether ``None`` is allowed."""
    if get_origin(kind) in (Union, types.UnionType):
        inner = next(each for each in get_args(kind) if each is not type(None))
        return inner, True
    return kind, False


def is_labels(kind: Any) -> bool:
    """Tell whether a type is the tuple of pairs that JSON shows as an object."""
    return bool(kind == tuple[tuple[str, str], ...])


def item_type(kind: Any) -> Any:
    """Return ``X`` of ``tuple[X, ...]``."""
    return get_args(kind)[0]


def join(field: str, name: str) -> str:
    """Append a name to a field path."""
    return f"{field}.{name}" if field else name


def item_key(item: Any, index: int) -> str:
    """Name an element of a list by what identifies it, or by its place."""
    if isinstance(item, Mapping):
        for names in _IDENTITIES:
            parts = [item.get(each) for each in names]
            if all(isinstance(part, str) and part for part in parts):
                return "/".join(shown_key(str(part)) for part in parts)
    return str(index)


def shown_key(text: str) -> str:
    """Show a name inside a field path: as it is if harmless, else quoted."""
    return text if re.fullmatch(r"[A-Za-z0-9._/:-]{1,80}", text, re.ASCII) else shown(text)


# Reading ---------------------------------------------------------------------------------


def _record(cls: type, data: Any, field: str, problems: list[Problem]) -> Any:
    if not isinstance(data, Mapping):
        problems.append(_wrong(field, "an object", data))
        return _BAD
    known = field_types(cls)
    _unknown_fields(known, data, field, problems)
    values = {}
    for name, kind in known.items():
        where = join(field, name)
        if name in data:
            values[name] = _value(kind, data[name], where, problems, unit(cls, name, data))
        elif name in required(cls):
            problems.append(problem(where, "GP-2103"))
            values[name] = _BAD
    return _BAD if _BAD in values.values() else cls(**values)


def _unknown_fields(
    known: Mapping[str, Any], data: Mapping[Any, Any], field: str, problems: list[Problem]
) -> None:
    names = ", ".join(known)
    problems.extend(
        problem(join(field, shown_key(str(name))), "GP-2102", known=names)
        for name in data
        if name not in known
    )


def _value(
    kind: Any, data: Any, field: str, problems: list[Problem], resource: str | None = None
) -> Any:
    inner, may_be_none = optional(kind)
    if data is None and may_be_none:
        return None
    try:
        if resource is not None:
            return _quantity(resource, data)
        return _plain(inner, data, field, problems)
    except Refused as error:
        problems.append(error.at(field))
        return _BAD


def _plain(kind: Any, data: Any, field: str, problems: list[Problem]) -> Any:
    if choices(kind) is not None:
        return _choice(kind, data)
    if is_labels(kind):
        return _labels(data)
    if get_origin(kind) is tuple:
        return _items(item_type(kind), data, field, problems)
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, field, problems)  # type: ignore[arg-type] # a class, no instance
    return _whole(data) if kind is int else _text(data)


def _items(kind: Any, data: Any, field: str, problems: list[Problem]) -> Any:
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        raise _refuse_type(data, expected="a list")
    items = [
        _plain_item(kind, item, f"{field}[{item_key(item, index)}]", problems)
        for index, item in enumerate(data)
    ]
    return _BAD if _BAD in items else tuple(items)


def _plain_item(kind: Any, item: Any, field: str, problems: list[Problem]) -> Any:
    return _value(kind, item, field, problems)


def _quantity(resource: str, data: Any) -> int:
    if resource in (CPU, MEMORY):
        if not isinstance(data, str):
            raise _refuse_type(data, expected=f"a text with a quantity of {resource}")
        return quantity.parse(resource, data)
    return quantity.checked(resource, _whole(data))


def _whole(data: Any) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise _refuse_type(data, expected="a whole number")
    if abs(data) > quantity.INT64_MAX:
        raise Refused(code="GP-2114", limit=quantity.INT64_MAX)
    return data


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise _refuse_type(data, expected="a text")
    if "\0" in data or re.search("[\ud800-\udfff]", data):
        raise Refused(code="GP-2142", value=shown(data))
    return data


def _choice(kind: Any, data: Any) -> Any:
    allowed = choices(kind) or ()
    text = _text(data)
    if text not in allowed:
        names = ", ".join(each or "(empty)" for each in allowed)
        raise Refused(code="GP-2106", value=shown(text), allowed=names)
    return text if get_origin(kind) is Literal else kind(text)


def _labels(data: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(data, Mapping):
        raise _refuse_type(data, expected="an object")
    return tuple(sorted((_text(key), _text(value)) for key, value in data.items()))


def _wrong(field: str, expected: str, data: Any) -> Problem:
    return _refuse_type(data, expected=expected).at(field)


def _refuse_type(data: Any, *, expected: str) -> Refused:
    got = _JSON_TYPES.get(type(data), type(data).__name__)
    if isinstance(data, str):
        got += f": {shown(data)}"
    elif isinstance(data, bool | float) or (isinstance(data, int) and _is_short(data)):
        got += f": {json.dumps(data)}"
    return Refused(code="GP-2104", expected=expected, got=got)


def _is_short(number: int) -> bool:
    """Tell whether a number can be shown: thousands of digits cannot even be turned into text."""
    return abs(number) <= quantity.INT64_MAX


# Writing ---------------------------------------------------------------------------------


def _unset(field: dataclasses.Field[Any], value: Any) -> bool:
    return field.default is not dataclasses.MISSING and value in (None, "", ())


def _written(owner: Any, name: str, value: Any) -> Any:
    resource = unit(type(owner), name, {"resource": getattr(owner, "resource", None)})
    if resource in (CPU, MEMORY) and value is not None:
        return quantity.plain(resource, value)
    if is_labels(field_types(type(owner))[name]):
        return dict(sorted(value))
    return _json(value)


def _json(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return encode(value)
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    return value.value if isinstance(value, StrEnum) else value


# JSON text -------------------------------------------------------------------------------


def _check_depth(text: str) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += bool(match[1]) - bool(match[2])
        if depth > MAX_DEPTH:
            raise Refused(code="GP-2108", limit=MAX_DEPTH)


def _check_characters(text: str, data: Any) -> None:
    """Refuse halves of surrogate pairs: they are no characters and cannot be stored."""
    escaped = re.search(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]", text)
    if escaped and re.search("[\ud800-\udfff]", json.dumps(data, ensure_ascii=False)):
        raise Refused(code="GP-2142", value="the text")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Refused(code="GP-2105", key=shown(key))
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise Refused(code="GP-2101", detail=f"{name} is not a number of JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise Refused(code="GP-2101", detail=f"a number has more than {MAX_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Refused(code="GP-2101", detail="a number is too large")
    return number
