"""A large bill: the memory that taking it needs does not grow with its rows."""

import re
import time
from pathlib import Path

import pytest

from costs.models import BillSource
from costs.services import bills
from tests.costs.focus import ORDINARY, table

pytestmark = [pytest.mark.bench, pytest.mark.django_db]
SMALL, LARGE = 2_000, 60_000
MOST = 64  # MiB above what the process had before: others may have measured in it
GROWTH = 8  # MiB between the small file and the large one
PADDING = "x" * 500


def file_of(path: Path, rows: int) -> int:
    """Write rows of about 850 bytes; return the size of the file in MiB."""
    row = {"Tags": f'{{"note": "{PADDING}"}}', "x_Rows": str(rows)}
    names = (*ORDINARY, "x_Rows")
    head, line = table(row, names=names).split(b"\r\n")[:2]
    with path.open("wb") as file:
        file.write(head + b"\r\n")
        for _ in range(rows):
            file.write(line + b"\r\n")
    return path.stat().st_size >> 20


def memory(name: str) -> int:
    """Return a figure of this process' memory in MiB: ``VmRSS`` now, ``VmHWM`` at most."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) >> 10


def peak_of(source: BillSource, path: Path, rows: int) -> int:
    """Take a file and return the highest memory of this process meanwhile, in MiB."""
    Path("/proc/self/clear_refs").write_text("5")
    with path.open("rb") as file:
        bill = bills.take_focus(source=source, file=file, name="bill.csv", actor=None)
    assert (bill.rows, bill.billed) == (rows, 10 * rows)
    return memory("VmHWM")


def test_a_large_bill_needs_no_more_memory_than_a_small_one(tmp_path, capsys):
    source = BillSource.objects.create(name="aws", currency="USD")
    path = tmp_path / "bill.csv"
    file_of(path, SMALL)
    before = memory("VmRSS")
    small = peak_of(source, path, SMALL)
    size = file_of(path, LARGE)
    started = time.perf_counter()
    large = peak_of(source, path, LARGE)
    took = time.perf_counter() - started
    with capsys.disabled():
        print(f"\n{LARGE} rows, {size} MiB: {took:.1f} s, at most {large} MiB, {before} before")  # noqa: T201

    assert large - before < MOST
    assert large - small < GROWTH


GIGABYTE = 1 << 30
PEAK = 200  # MiB of the whole process, that of the test among it


def test_a_gigabyte_is_taken_in_two_hundred_mib(tmp_path, capsys):
    """Also what comes over the web in pieces is read like this: one row after the other."""
    source = BillSource.objects.create(name="aws", currency="USD")
    path = tmp_path / "bill.csv"
    size = file_of(path, SMALL)
    rows = SMALL * (GIGABYTE >> 20) // max(1, size) + SMALL
    size = file_of(path, rows)
    started = time.perf_counter()
    peak = peak_of(source, path, rows)
    took = time.perf_counter() - started
    with capsys.disabled():
        print(f"\n{rows} rows, {size} MiB: {took:.0f} s, at most {peak} MiB")  # noqa: T201

    assert size >= GIGABYTE >> 20
    assert peak < PEAK
