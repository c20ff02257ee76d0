"""What a cluster's answers look like to the rest of the portal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Object = dict[str, Any]
Objects = list[Object]
Versions = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Applied:
    """An object as it stands after an apply (or would stand, after a dry run)."""

    object: Object
    warnings: tuple[str, ...] = ()
    created: bool = False

    @property
    def uid(self) -> str:
        """Return the object's uid; a dry run of a new object makes one up."""
        return str(self.object["metadata"].get("uid", ""))

    @property
    def resource_version(self) -> str:
        """Return the object's resourceVersion (empty after a dry run of a new object)."""
        return str(self.object["metadata"].get("resourceVersion", ""))


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list; ``restarted`` says that earlier pages are void."""

    items: list[Object]
    resource_version: str
    remaining: int | None
    restarted: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """The version that the API server reports."""

    git: str
    major: int
    minor: int


@dataclass(frozen=True, slots=True)
class Token:
    """A bound service account token; its text form does not show it."""

    value: str = field(repr=False)
    expires_at: datetime
