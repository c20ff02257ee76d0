"""A property that is worked out once: ``functools.cached_property`` without its lock.

Up to Python 3.11 that one takes a lock at each first look, which costs more than most of what is
looked at here. Two threads may both work a value out; it is the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as once
else:

    class once:  # noqa: N801 - used as a decorator, as property is
        """Keeps the value in the instance, where the next look finds it without this class."""

        def __init__(self, made: Callable[[Any], Any]) -> None:
            """Take the method that makes the value."""
            self.made = made
            self.__doc__ = made.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            """Take the name under which the value is kept."""
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Make the value, and keep it."""
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.made(instance)
            return value


__all__ = ["once"]
