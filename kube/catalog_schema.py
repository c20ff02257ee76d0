"""The JSON Schema (2020-12) of a catalog, made from the dataclasses."""

from __future__ import annotations

import dataclasses
from typing import Any, Final, get_origin

from kube import quantity
from kube.catalog import CPU, MEMORY, Catalog
from kube.catalog_json import (
    QUOTA_NUMBERS,
    UNITS,
    choices,
    field_types,
    is_labels,
    item_type,
    optional,
    required,
)
from kube.catalog_notes import LENGTHS, NOTES, PATTERNS, RANGES

_UNIT_WORDS: Final = {CPU: "CPUs", MEMORY: "binary units of bytes", "devices": "devices"}
Schema = dict[str, Any]


def schema() -> Schema:
    """Return the schema; every object is closed, so a typo is an error and not a wish."""
    definitions: Schema = {}
    root = _reference(Catalog, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Catalog of one cluster",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _reference(cls: type, definitions: Schema) -> Schema:
    if cls.__name__ not in definitions:
        definitions[cls.__name__] = {}
        definitions[cls.__name__] = _record(cls, definitions)
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _record(cls: type, definitions: Schema) -> Schema:
    properties = {
        name: {"description": NOTES[cls][name], **_field(cls, name, kind, definitions)}
        for name, kind in field_types(cls).items()
    }
    record: Schema = {
        "type": "object",
        "description": " ".join((cls.__doc__ or "").split("\n\n")[0].split()),
        "properties": properties,
        "additionalProperties": False,
    }
    if required(cls):
        record["required"] = list(required(cls))
    if properties.keys() >= QUOTA_NUMBERS:
        record["allOf"] = [_numbers_of(CPU), _numbers_of(MEMORY), _numbers_of_devices()]
    return record


def _field(cls: type, name: str, kind: Any, definitions: Schema) -> Schema:
    inner, may_be_null = optional(kind)
    if name in QUOTA_NUMBERS:
        value: Schema = {"type": ["string", "integer"]}
    elif (cls, name) in UNITS:
        value = _quantity(UNITS[cls, name])
    else:
        value = _value(cls, name, inner, definitions)
    if may_be_null:
        kinds = value["type"]
        value = {**value, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}
    return {**value, **_default(cls, name)}


def _value(cls: type, name: str, kind: Any, definitions: Schema) -> Schema:
    allowed = choices(kind)
    if allowed is not None:
        return {"type": "string", "enum": list(allowed)}
    if is_labels(kind):
        return {"type": "object", "additionalProperties": {"type": "string"}}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _item(item_type(kind), definitions)}
    if dataclasses.is_dataclass(kind):
        return _reference(kind, definitions)  # type: ignore[arg-type] # it is a class: fields hold no instances
    return _whole(cls, name) if kind is int else _text(cls, name)


def _item(kind: Any, definitions: Schema) -> Schema:
    return {"type": "string"} if kind is str else _reference(kind, definitions)


def _whole(cls: type, name: str) -> Schema:
    lowest, highest = RANGES[cls, name]
    return {"type": "integer", "minimum": lowest, "maximum": highest}


def _text(cls: type, name: str) -> Schema:
    text: Schema = {"type": "string"}
    if (cls, name) in PATTERNS:
        text["pattern"] = f"^{PATTERNS[cls, name]}$"
    if (cls, name) in LENGTHS:
        text["maxLength"] = LENGTHS[cls, name]
    return text


def _quantity(resource: str) -> Schema:
    unit = {"x-unit": _UNIT_WORDS[resource]}
    if resource == "devices":
        return {"type": "integer", "minimum": 0, "maximum": quantity.MAX_DEVICES, **unit}
    pattern = {CPU: quantity.CPU_PATTERN, MEMORY: quantity.MEMORY_PATTERN}[resource]
    return {"type": "string", "pattern": f"^{pattern}$", **unit}


def _numbers_of(resource: str) -> Schema:
    return {
        "if": {"properties": {"resource": {"const": resource}}},
        "then": {"properties": _numbers(_quantity(resource))},
    }


def _numbers_of_devices() -> Schema:
    return {
        "if": {"properties": {"resource": {"not": {"enum": [CPU, MEMORY]}}}},
        "then": {"properties": _numbers(_quantity("devices"))},
    }


def _numbers(value: Schema) -> Schema:
    or_null = {**value, "type": [value["type"], "null"]}
    return {"nominal": value, "borrowing_limit": or_null, "lending_limit": or_null}


def _default(cls: type, name: str) -> Schema:
    field = next(each for each in dataclasses.fields(cls) if each.name == name)
    if isinstance(field.default, str):
        return {"default": str(field.default)}
    return {}
