"""The shape of the code: small tasks, no drawers full of odds and ends, one way to a state."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("portal", "tenants", "queues", "costs", "kube", "cluster")
DRAWERS = {"utils", "util", "helpers", "helper", "common", "base", "manager", "managers", "misc"}
LONGEST_FILE = 400
LONGEST_TASK = 10
FILES = [
    path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if "migrations" not in path.parts
]
APPS = ("tenants/", "queues/", "costs/")
READS_ENVIRONMENT = ("portal/settings/", "portal/embedded/", "portal/demo/")
SAVES = {"post_save", "pre_save", "post_delete", "pre_delete"}
# The one function that moves a row from state to state, and the one that keeps the copy in
# memory equal to the result it has just written.
MOVES = {"tenants/models/states.py", "queues/services/apply_objects.py"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def offenders(found: Callable[[Path], object]) -> dict[str, object]:
    """Apply a rule to every file; return what is wrong, by file."""
    wrong = {path.relative_to(ROOT).as_posix(): found(path) for path in FILES}
    return {name: what for name, what in wrong.items() if what}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef))


def decorators(function: ast.FunctionDef) -> set[str]:
    found = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return {ast.unparse(one).rsplit(".", 1)[-1] for one in found}


def assigned(path: Path) -> Iterator[str]:
    """Yield the attributes that the file assigns to, as they are written."""
    for node in ast.walk(tree(path)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        yield from (ast.unparse(one) for one in targets if isinstance(one, ast.Attribute))


def test_no_module_is_a_drawer_of_odds_and_ends():
    assert offenders(lambda path: {path.stem, path.parent.name} & DRAWERS) == {}


def test_every_module_says_what_it_is_for():
    assert offenders(lambda path: path.stat().st_size and not ast.get_docstring(tree(path))) == {}


def test_every_file_can_be_read_in_one_go():
    lines = offenders(lambda path: len(path.read_text().splitlines()))

    assert {name: count for name, count in lines.items() if count > LONGEST_FILE} == {}


def test_a_task_claims_calls_and_ends():
    def long(path: Path) -> list[str]:
        tasks = (one for one in functions(path) if decorators(one) & {"shared_task", "task"})
        return [one.name for one in tasks if one.end_lineno - one.lineno >= LONGEST_TASK]

    assert offenders(long) == {}


def test_no_model_overrides_save():
    def saves(path: Path) -> list[str]:
        return [
            one.name for one in functions(path) if one.name == "save" and "models" in path.parts
        ]

    assert offenders(saves) == {}


def test_a_state_is_moved_never_set():
    found = offenders(lambda path: [text for text in assigned(path) if text.endswith(".state")])

    in_apps = {name: what for name, what in found.items() if name.startswith(APPS)}
    assert {name: what for name, what in in_apps.items() if name not in MOVES} == {}


def test_nothing_listens_to_saves():
    def listens(path: Path) -> set[str]:
        return SAVES & {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}

    assert offenders(listens) == {}


def test_only_the_settings_read_our_variables():
    """A variable that is read elsewhere has no check and no place in the documents."""

    def reads(path: Path) -> list[str]:
        return re.findall(r"os\.(?:environ|getenv)\S*GPUPORTAL_\w+", path.read_text())

    found = offenders(reads)
    assert {name for name in found if not name.startswith(READS_ENVIRONMENT)} == set()
