"""What is wrong with an input: one value per fault, with the field, a stable code and words.

The English words of a code live in :mod:`kube.messages`; ``params`` carries the values that
were put into them, so that a translation can be made from ``code`` and ``params`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from kube.messages import MESSAGES

Severity = Literal["error", "warning"]
Param = str | int


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault at one field, for example ``tenants[nlp].queues[nlp-train].cohort``."""

    field: str
    code: str
    message: str
    severity: Severity = "error"
    params: tuple[tuple[str, Param], ...] = ()

    def __str__(self) -> str:
        """Give the line that a terminal shows."""
        where = f"{self.field}: " if self.field else ""
        return f"{self.severity} {self.code} {where}{self.message}"


def problem(field: str, code: str, /, severity: Severity = "error", **params: Param) -> Problem:
    """Make a problem from its code; the message comes from the table of messages."""
    message = words(code, params)
    return Problem(field, code, message, severity, tuple(sorted(params.items())))


def words(code: str, params: Mapping[str, Param]) -> str:
    """Fill the message of a code; values that are not printable are shown escaped."""
    return MESSAGES[code].format_map({name: _one_line(value) for name, value in params.items()})


class Refused(ValueError):
    """One value was not accepted; the caller knows the field and calls :meth:`at`."""

    def __init__(self, *, code: str, **params: Param) -> None:
        """Keep the code and the values that explain it."""
        self.code = code
        self.params = params
        self.message = words(code, params)
        super().__init__(self.message)

    def at(self, field: str) -> Problem:
        """Say the same about a field."""
        return problem(field, self.code, "error", **self.params)


class InvalidCatalog(ValueError):
    """A catalog, an edit or a manifest has problems; all that were found are kept."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in the order in which they were found."""
        self.problems = tuple(problems)
        super().__init__("\n".join(str(each) for each in self.problems))


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return only what forbids to go on."""
    return tuple(each for each in problems if each.severity == "error")


def warnings(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return only what a person should look at."""
    return tuple(each for each in problems if each.severity == "warning")


def shown(value: object, limit: int = 40) -> str:
    """Show untrusted input inside a message: printable ASCII, quoted, cut to ``limit``."""
    text = value if isinstance(value, str) else type(value).__name__
    cut = text[:limit] + ("..." if len(text) > limit else "")
    return ascii(cut) if isinstance(value, str) else cut


def _one_line(value: Param) -> Param:
    return value if isinstance(value, int) or value.isprintable() else ascii(value)
