"""Fields that several answers share."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from queues.reading import bare


class Words(serializers.CharField):
    """A sentence for people, in the language that was asked for; plain text without markup."""

    def to_representation(self, value: Any) -> str:
        """Take out the markup of a page."""
        return bare(value)


class Maybe(serializers.CharField):
    """A text, or ``null`` where there is none: empty never stands for unknown."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> str | None:  # type: ignore[override]
        """Give ``null`` for an empty text."""
        return super().to_representation(value) or None


@extend_schema_field({"type": "array", "items": {"type": "object", "additionalProperties": True}})
class Edits(serializers.JSONField):
    """The edits of a request, as the catalog's file describes them."""
