"""docs/api.md: every example is run as it stands, and answers what stands below it."""

import json
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from costs.filters import (
    BillQuery,
    DiscrepancyQuery,
    HourQuery,
    PeriodQuery,
    RollupQuery,
    StatementQuery,
)
from queues.filters import JobQuery, QueueQuery, RequestFilter
from tests.cast import PASSWORD
from tests.queues import api, seen

DOC = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"```(sh|json|console)\n(.*?)```", DOC, re.S)
#: Each example with what stands below it.
EXAMPLES = [
    (block, BLOCKS[number + 1] if number + 1 < len(BLOCKS) else ("", ""))
    for number, (kind, block) in enumerate(BLOCKS)
    if kind == "sh"
]
COMMANDS = [block.removeprefix("$ ").strip() for _kind, block in BLOCKS if block.startswith("$ ")]


@pytest.fixture
def shell(committed_lab, live_server, tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("no curl on the path")
    api.line_of_both(committed_lab)
    api.hours_of_both(committed_lab)
    names = {"PORTAL": live_server.url, "WHO": "bob", "PASSWORD": PASSWORD}

    def run(block):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, capture_output=True, text=True,
            env={"PATH": "/usr/bin:/bin", **names}, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def holds(said, found, where="answer"):
    """What the page shows is a part of the answer; an ellipsis stands for anything."""
    if isinstance(said, dict):
        assert isinstance(found, dict), where
        for name, value in said.items():
            assert name in found, f"{where}.{name}"
            holds(value, found[name], f"{where}.{name}")
    elif isinstance(said, list):
        assert len(said) == len(found), where
        for number, (one, other) in enumerate(zip(said, found, strict=True)):
            holds(one, other, f"{where}[{number}]")
    elif isinstance(said, str) and "…" in said:
        assert str(found).startswith(said.partition("…")[0]), where
    elif where.endswith("age_seconds"):
        assert found >= 0
    else:
        assert said == found, where


def test_every_example_answers_what_the_page_says(shell):
    for block, (kind, below) in EXAMPLES:
        answer = shell(block)
        if kind == "json":
            holds(json.loads(below), json.loads(answer))
        elif kind == "console" and not below.startswith("$"):
            assert answer == below


def test_every_command_is_run(lab):
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "train-1")
    (command,) = COMMANDS
    python, manage, *arguments = command.split()

    assert (python, manage) == ("python", "manage.py")
    out = StringIO()
    call_command(*arguments, stdout=out)
    assert "Needs 8" in out.getvalue()


def test_exit_codes_of_the_page_are_those_of_the_help(capsys):
    with pytest.raises(SystemExit):
        call_command("why", "--help")
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    codes = re.findall(r"^\| (\d) \|", DOC, re.MULTILINE)

    assert codes == re.findall(r"\b(\d) (?:answered|a value|the command|there is|several)", said)
    with pytest.raises((CommandError, SystemExit)):
        call_command("why")


def test_every_address_filter_and_order_is_on_the_page():
    addresses = set(re.findall(r"`([a-zA-Z/…]+/)`", DOC))
    for path in api.description()["paths"]:
        plain = re.sub(r"\{(\w+)\}", lambda part: part[1].upper(), path.removeprefix(api.ROOT))
        assert plain in addresses
    costs = (RollupQuery, HourQuery, StatementQuery, PeriodQuery, DiscrepancyQuery, BillQuery)
    for filters in (JobQuery, QueueQuery, RequestFilter, *costs):
        assert {name for name in filters.base_filters if f"`{name}`" not in DOC} == set()
    for operation in api.description()["paths"].values():
        for each in operation["get"]["parameters"]:
            if each["name"] == "sort":
                assert {
                    order for order in each["schema"]["enum"] if f"`{order}`" not in DOC
                } == set()
