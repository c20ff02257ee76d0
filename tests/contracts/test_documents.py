"""What the documents say about configuration and dependencies is true and whole."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = [path for name in ("portal", "queues", "tenants") for path in (ROOT / name).rglob("*.py")]
VARIABLE = re.compile(r"GPUPORTAL_[A-Z_]+")
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
LOCKS = ("requirements/run.txt", "requirements/dev.txt")


def used() -> set[str]:
    found = {name for path in CODE for name in VARIABLE.findall(path.read_text())}
    return {name for name in found if not name.endswith(("_FILE", "_"))}


def test_every_variable_is_documented():
    assert used() - set(VARIABLE.findall(CONFIGURATION)) == set()


def test_no_documented_variable_is_gone():
    known = used() | {f"{name}_FILE" for name in used()}

    assert set(VARIABLE.findall(CONFIGURATION)) - known == set()


def test_every_dependency_has_a_reason():
    text = (ROOT / "docs" / "decisions" / "0001-dependencies.md").read_text()
    lines = (ROOT / "requirements" / "run.in").read_text().splitlines()
    names = {re.split(r"[\[<>=~]", line)[0] for line in lines if line and line[0] not in "#-"}

    assert {name for name in names if f"| {name} |" not in text} == set()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_server_and_hashes_everything(name):
    text = (ROOT / name).read_text()
    packages = re.findall(r"^[A-Za-z0-9][^=\s]*==", text, re.MULTILINE)

    assert "://" not in text
    assert "--index" not in text
    assert "--extra-index" not in text
    assert len(packages) > 20
    assert text.count("--hash=sha256:") >= len(packages)


def test_the_build_server_runs_the_documented_command():
    assert "exec make test" in (ROOT / ".ci" / "run").read_text()
