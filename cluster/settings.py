"""What a person may choose for an instance, handed to its supervisor as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from cluster.kueue import KueueOptions

# The exit status of a supervisor that finds its data folder taken.
ANOTHER_RUNS = 3


@dataclass(frozen=True)
class Settings:
    """What a person may choose for an instance."""

    name: str
    data: str
    cache: str
    parent: int | None = None
    compaction: str = "5m"
    kueue: KueueOptions = field(default_factory=KueueOptions)

    def to_json(self) -> str:
        """Return the settings for the command line of the supervisor."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read settings back."""
        values = json.loads(text)
        return cls(**(values | {"kueue": KueueOptions(**values["kueue"])}))
