"""Problems in words: the stable code chooses the sentence, the parameters fill it."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext

from kube.messages import MESSAGES
from kube.problems import Problem


def sentence(problem: Problem) -> str:
    """Return the message of a problem in the viewer's language, as a sentence."""
    template = MESSAGES.get(problem.code)
    if template is None:
        return capital(problem.message)
    params = {name: printable(value) for name, value in problem.params}
    text = gettext(template).format_map(Shown(params))
    # What begins with a value keeps it as it was written.
    return ended(text) if template.startswith("{") else capital(text)


def printable(value: object) -> object:
    """Return a parameter with everything that is not printable as its escape."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in value)


class Shown(dict[str, object]):
    """Parameters of a message; one that is missing shows its name instead of breaking a page."""

    def __missing__(self, name: str) -> str:
        """Give the name back."""
        return f"{{{name}}}"


def capital(text: str) -> str:
    """Return ``text`` with a capital first letter and a full stop."""
    return ended(text[:1].upper() + text[1:])


def ended(text: str) -> str:
    """Return ``text`` with a full stop."""
    end = "" if not text or text[-1] in ".!?。" else "."
    return text + end


def stored(problem: Problem) -> Mapping[str, object]:
    """Return a problem as the JSON that a row keeps."""
    return {
        "field": problem.field,
        "code": problem.code,
        "message": problem.message,
        "severity": problem.severity,
        "params": dict(problem.params),
    }


def read(row: Mapping[str, object]) -> Problem:
    """Return a problem that a row has kept."""
    params = row.get("params") or {}
    return Problem(
        field=str(row.get("field", "")),
        code=str(row.get("code", "")),
        message=str(row.get("message", "")),
        severity="warning" if row.get("severity") == "warning" else "error",
        params=tuple(sorted(params.items())) if isinstance(params, dict) else (),
    )
