"""Count the queries of a page and compare them with the number that was agreed.

    with counted("queues: tenant page, 30 workloads"):
        client.get(url)

The numbers stand in tests/contracts/query_counts.json. A change of a number is a decision: run
`UPDATE_QUERY_COUNTS=1 python -m pytest -n 0 ...` and look at the difference of that file.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection
from django.test.utils import CaptureQueriesContext

FILE = Path(__file__).parent / "contracts" / "query_counts.json"
# What a page pays for knowing who is there is counted; transactions and roles are the test's.
NOT_COUNTED = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK", "BEGIN", "COMMIT", "SET ", "RESET ")


def agreed() -> dict[str, int]:
    """Return the numbers of the file."""
    known: dict[str, int] = json.loads(FILE.read_text())
    return known


def updating() -> bool:
    """Tell whether the file is to be written; never by several workers at once."""
    if os.environ.get("UPDATE_QUERY_COUNTS") != "1":
        return False
    if "PYTEST_XDIST_WORKER" in os.environ:
        raise RuntimeError("UPDATE_QUERY_COUNTS needs one process: add -n 0")
    return True


@contextmanager
def counted(name: str) -> Iterator[None]:
    """Fail when the block runs another number of queries than agreed, and show them."""
    with CaptureQueriesContext(connection) as captured:
        yield
    queries = [one["sql"] for one in captured if not one["sql"].startswith(NOT_COUNTED)]
    if updating():
        write({**agreed(), name: len(queries)})
        return
    expected = agreed().get(name)
    shown = "\n".join(f"{number}. {sql[:300]}" for number, sql in enumerate(queries, 1))
    assert len(queries) == expected, f"{name}: {len(queries)} queries, agreed {expected}\n{shown}"


def write(numbers: dict[str, int]) -> None:
    """Write the file in a stable form."""
    FILE.write_text(json.dumps(numbers, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
