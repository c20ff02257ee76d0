"""Names of the plain part as values of columns; migrations hold them as text."""

from enum import StrEnum


def names(of: type[StrEnum]) -> list[tuple[str, str]]:
    """Return choices whose words are made by the pages."""
    return [(each.value, each.value) for each in of]


def values(of: type[StrEnum]) -> list[str]:
    """Return what a column may hold."""
    return [each.value for each in of]
