"""Parts of a query that never change, put together once and then written into each query as text.

A part is made of Django's own expressions, as any other annotation. To resolve and compile those
of one page anew takes longer than the database takes to answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.db import DEFAULT_DB_ALIAS, models
from django.db.models.expressions import RawSQL


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
