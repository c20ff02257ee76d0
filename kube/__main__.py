"""The command line: ``python -m kube schema | render | check | diff | explain``.

Exit codes: 0 fine or equal, 1 different, 2 bad input (one line per problem on standard error).
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from kube.catalog import Catalog
from kube.catalog_json import MAX_BYTES, load, loads
from kube.catalog_schema import schema
from kube.diff import Change, diff_lists
from kube.explain_files import explain_files
from kube.manifest import Manifest
from kube.problems import InvalidCatalog, Problem, errors, problem, shown
from kube.render import render
from kube.rules import check, check_manifests

EQUAL: Final = 0
DIFFERENT: Final = 1
BAD_INPUT: Final = 2
MAX_LIVE_BYTES: Final = 100_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        code = command(options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except InvalidCatalog as error:
        _tell(error.problems)
        return BAD_INPUT
    except OSError as error:
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            _say(f"error: the answer cannot be written: {error.strerror}")
        return BAD_INPUT
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kube", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    one = commands.add_parser("schema", help="print the JSON Schema of a catalog")
    one.set_defaults(run=_schema)
    one = commands.add_parser("check", help="check a catalog against every rule")
    one.add_argument("catalog", help="file, or - for standard input")
    one.set_defaults(run=_check)
    one = commands.add_parser("render", help="print the objects of a catalog as a List")
    one.add_argument("catalog", help="file, or - for standard input")
    one.set_defaults(run=_render)
    one = commands.add_parser("diff", help="print what differs in the fields that are wanted")
    one.add_argument("live", help="objects as they are: one, a List or an array")
    one.add_argument("wanted", help="objects as they should be")
    one.set_defaults(run=_diff)
    one = commands.add_parser("explain", help="say why a Workload, or a job without one, waits")
    one.add_argument(
        "files", nargs="+",
        help="a Workload, and Lists of what belongs to it: queues, cohorts, checks, pods, events",
    )  # fmt: skip
    one.set_defaults(run=_explain)
    return parser


def _schema(_options: argparse.Namespace) -> int:
    _print(schema())
    return EQUAL


def _check(options: argparse.Namespace) -> int:
    _catalog(options.catalog)
    return EQUAL


def _render(options: argparse.Namespace) -> int:
    manifests = render(_catalog(options.catalog))
    problems = check_manifests(manifests)
    if problems:
        raise InvalidCatalog(problems)
    _print({"apiVersion": "v1", "kind": "List", "items": [each.body for each in manifests]})
    return EQUAL


def _diff(options: argparse.Namespace) -> int:
    if options.live == options.wanted == "-":
        raise InvalidCatalog([problem("-", "GP-2101", detail="only one input can be read from -")])
    live = _objects(options.live)
    changes = diff_lists(live, _objects(options.wanted))
    _print([_shown_change(each) for each in changes])
    return DIFFERENT if changes else EQUAL


def _explain(options: argparse.Namespace) -> int:
    if options.files.count("-") > 1:
        raise InvalidCatalog([problem("-", "GP-2101", detail="only one input can be read from -")])
    read = {name: _loaded(name) for name in dict.fromkeys(options.files)}
    _print(explain_files(read))
    return EQUAL


def _loaded(name: str) -> Any:
    """Read the JSON of a file; what is wrong with it names the file."""
    try:
        return loads(_read(name, MAX_LIVE_BYTES), max_bytes=MAX_LIVE_BYTES)
    except InvalidCatalog as error:
        named = [replace(each, field=each.field or name) for each in error.problems]
        raise InvalidCatalog(named) from None


def _catalog(name: str) -> Catalog:
    catalog = load(loads(_read(name, MAX_BYTES)))
    problems = check(catalog)
    if errors(problems):
        raise InvalidCatalog(problems)
    _tell(problems)
    return catalog


def _objects(name: str) -> list[Mapping[str, Any]]:
    data = loads(_read(name, MAX_LIVE_BYTES), max_bytes=MAX_LIVE_BYTES)
    is_list = isinstance(data, Mapping) and isinstance(data.get("items"), list)
    items = data["items"] if is_list else data
    found = items if isinstance(items, list) else [items]
    problems = [_no_object(name, index) for index, each in enumerate(found) if not _is_object(each)]
    problems = problems or list(_twice(name, found))
    if problems:
        raise InvalidCatalog(problems)
    return found


def _is_object(value: Any) -> bool:
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    named = isinstance(metadata, Mapping) and isinstance(metadata.get("name"), str)
    return named and isinstance(value.get("kind"), str)


def _no_object(name: str, index: int) -> Problem:
    expected = "a Kubernetes object with kind and metadata.name"
    return problem(f"{name}[{index}]", "GP-2104", expected=expected, got="something else")


def _twice(name: str, objects: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Find objects that occur again: nobody could say which of them is meant."""
    seen = set()
    for index, each in enumerate(objects):
        ref = Manifest.of(each).ref
        if ref in seen:
            yield problem(f"{name}[{index}]", "GP-2205", name=str(ref))
        seen.add(ref)


def _read(name: str, limit: int) -> bytes:
    """Read at most one byte more than allowed: a device or a pipe may have no end."""
    try:
        with _opened(name) as stream:
            return stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise InvalidCatalog(
            [problem("", "GP-2101", detail=f"{shown(name, 200)}: {reason}")]
        ) from None


def _opened(name: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if name != "-":
        return Path(name).open("rb")
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return contextlib.nullcontext(sys.stdin.buffer)


def _shown_change(change: Change) -> dict[str, Any]:
    values = {"before": change.before, "after": change.after}
    return {"object": str(change.ref), "path": change.path, **values, "kind": change.kind}


def _print(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    sys.stdout.buffer.write(text.encode("utf-8"))


def _tell(problems: Sequence[Problem]) -> None:
    for each in problems:
        _say(str(each))


def _say(line: str) -> None:
    """Write a line for people; without a standard error the exit code has to do."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr)


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that leaving does not fail on it again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
