"""The shape of something that would help."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something that somebody can do.

    ``url`` leads to where it is done, ``label`` says so on a button; ``copy`` is a text to take
    along, for a manifest or a message.
    """

    code: str
    text: str
    url: str = ""
    label: str = ""
    copy: str = ""
