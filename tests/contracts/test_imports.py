"""The layers of the architecture hold, and no new module stands outside of them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
LAYERED = ("tenants", "queues", "costs")
# Modules that every app may have and that stand outside of its layers: they import nothing.
FREE = {"migrations", "templatetags", "__init__"}
OPENS_THE_DOOR = {"transport"}


def contract(name: str) -> dict:
    return next(one for one in CONTRACTS if one["name"].startswith(name))


def modules(package: str) -> set[str]:
    folder = ROOT / package
    found = {path.stem for path in folder.glob("*.py")}
    return found | {path.parent.name for path in folder.glob("*/__init__.py")}


def test_nothing_imports_against_the_layers():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("app", LAYERED)
def test_every_module_of_an_app_has_a_layer(app):
    named = " ".join(contract("inside an app")["layers"])
    known = set(named.replace("(", " ").replace(")", " ").replace("|", " ").split())

    assert modules(app) - known - FREE == set()


@pytest.mark.parametrize("role", ["views", "forms", "api"])
def test_the_edges_of_tenants_are_closed_to_queues(role):
    closed = contract("queues sees of tenants")["forbidden_modules"]

    assert role not in modules("tenants") or f"tenants.{role}" in closed


def test_services_of_every_app_are_kept_from_enqueuing():
    named = set(contract("services never enqueue")["source_modules"])

    assert named == {f"{app}.services" for app in LAYERED if "services" in modules(app)}


def test_one_module_imports_the_cluster_library():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("*/**/*.py")
        if any(
            line.lstrip().startswith(("import kubernetes", "from kubernetes"))
            for line in path.read_text().splitlines()
        )
    }

    assert {name for name in found if not name.startswith("tests/")} == {"kube/transport.py"}
