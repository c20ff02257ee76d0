"""Queries that never change but in their values, put together once: parts of them, or all.

They are made of Django's own expressions, as any other. To resolve and compile those of one page
anew takes longer than the database takes to answer.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.expressions import Expression, RawSQL

R = TypeVar("R")


class Part:
    """An annotation for the rows of one model: ``rows.annotate(name=part())``.

    Its references to the outer row are written with the name of the model's table: only for
    queries whose rows these are, not for one inside another.
    """

    def __init__(self, model: type[models.Model], make: Callable[[], Any]) -> None:
        """Take what makes the expression; it is asked once, when the part is first used."""
        self.model, self.make = model, make

    def __call__(self) -> RawSQL:
        """Give the expression."""
        sql, params, kind = self._written
        return RawSQL(sql, params, output_field=kind)  # noqa: S611 - Django's own text, values bound

    @cached_property
    def _written(self) -> tuple[str, tuple[Any, ...], models.Field[Any, Any]]:
        query = self.model._base_manager.annotate(part=self.make()).query
        found: Any = query.annotations["part"]
        sql, params = query.get_compiler(DEFAULT_DB_ALIAS).compile(found)
        return sql, tuple(params), found.output_field


# --- whole queries --------------------------------------------------------------------------------


class Given(Expression):
    """A value of a ``Once`` that is told by its name each time."""

    def __init__(self, name: str, kind: models.Field[Any, Any]) -> None:
        """Take the type that the value has for the database."""
        super().__init__(output_field=kind)
        self.name = name

    def as_sql(self, *_: Any, **__: Any) -> tuple[str, Any]:
        """Leave a place for the value."""
        return "%s", [self]


class Among(models.Func):
    """``column = ANY(values)``: a condition as ``__in``, with one place for any number of values."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    output_field = models.BooleanField()


def text(name: str) -> Given:
    """Give the place of a text, or of texts for ``Among``."""
    return Given(name, models.TextField())


def number(name: str) -> Given:
    """Give the place of a whole number, or of numbers for ``Among``."""
    return Given(name, models.BigIntegerField())


@dataclass(frozen=True, slots=True)
class _Written:
    rows: models.QuerySet[Any, Any]
    compiler: Any
    sql: str
    params: tuple[Any, ...]


@dataclass(slots=True)
class _Again:
    """What Django's reading of rows asks of a query set and its query: the text is there already."""

    rows: models.QuerySet[Any, Any]
    compiler: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rows, name)

    @property
    def query(self) -> Any:
        return self

    @property
    def selected(self) -> Any:
        return self.rows.query.selected

    def get_compiler(self, *_: Any, **__: Any) -> Any:
        return self.compiler


class Once(Generic[R]):
    """A query with places for values: ``Once(lambda: Queue.objects.filter(pk=number("pk")))(pk=3)``."""

    def __init__(self, make: Callable[[], models.QuerySet[Any, R]]) -> None:
        """Take what makes the query; it is asked once, when the query is first used."""
        self.make = make

    def __call__(self, **given: Any) -> list[R]:
        """Give the rows for these values."""
        written = self._written
        values = [given[each.name] if isinstance(each, Given) else each for each in written.params]
        compiler = copy(written.compiler)
        compiler.connection = connections[DEFAULT_DB_ALIAS]  # that of this thread
        compiler.as_sql = lambda *_, **__: (written.sql, values)
        reading: Any = written.rows._iterable_class
        return list(reading(_Again(written.rows, compiler)))

    @cached_property
    def _written(self) -> _Written:
        rows = self.make()
        compiler = rows.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        return _Written(rows, compiler, sql, tuple(params))
