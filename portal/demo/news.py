"""What the work in the background says, told by the process that a person looks at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

#: Lines of one look; more at once is the trace of an error, which stands in the log.
MOST: Final = 5


class News:
    """The lines that a log has got since the last look."""

    def __init__(self, log: Path, say: Callable[[str], None]) -> None:
        """Begin at the end of what earlier starts have said."""
        self.log, self.say = log, say
        self.told = log.stat().st_size if log.exists() else 0

    def tell(self) -> None:
        """Say whole lines that are new."""
        if not self.log.exists():
            return
        with self.log.open("rb") as file:
            file.seek(self.told)
            whole, end, _rest = file.read().rpartition(b"\n")
        self.told += len(whole) + len(end)
        for line in whole.decode(errors="replace").splitlines()[-MOST:]:
            self.say(f"past: {line}")
