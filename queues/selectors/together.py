"""Several small questions in one query: on a page each way to the database counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet, Value
from django.db.models.functions import JSONObject

M = TypeVar("M", bound=Model)


def together(**parts: QuerySet[Any] | None) -> dict[str, list[Any]]:
    """Run several queries as one, and give the answers of each by its name.

    Each part gives one JSON value a row, ``values(json=JSONObject(...))``; None asks nothing. A
    part that cannot find anything (names of an empty list, say) costs nothing; if none is left,
    there is no query.
    """
    asked = {name: part for name, part in parts.items() if part is not None}
    return sorted_out(one_query(asked) if asked else (), parts)


def one_query(parts: Mapping[str, QuerySet[Any]]) -> QuerySet[Any, tuple[str, Any]]:
    """Make one query of several; ``sorted_out`` reads its rows."""
    first, *more = (
        part.annotate(part=Value(name)).values_list("part", "json") for name, part in parts.items()
    )
    found: QuerySet[Any, tuple[str, Any]] = first.union(*more, all=True)
    return found


def sorted_out(rows: Iterable[tuple[str, Any]], names: Iterable[str] = ()) -> dict[str, list[Any]]:
    """Give the answers of each part by its name; a part of ``names`` may have none."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    for name, json in rows:
        found.setdefault(name, []).append(json)
    return found


def columns(names: Iterable[str]) -> JSONObject:
    """Give these columns of a row as one JSON object."""
    return JSONObject(**{name: name for name in names})


def row_of(model: type[M], facts: Mapping[str, Any]) -> M:
    """Read a row back of which ``columns`` gave a part; it is not for saving."""
    # The types of Django let a field be a relation from elsewhere, which has no column here.
    fields = {name: model._meta.get_field(name) for name in facts}
    return model(**{name: fields[name].to_python(value) for name, value in facts.items()})  # type: ignore[union-attr]
