"""The command line: its answers, its exit codes, and never a traceback."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kube.__main__ import main
from kube.catalog_json import dump
from kube.catalog_schema import schema
from kube.examples import EXAMPLES, example
from kube.render import render
from tests.kube.make import catalog, lines, with_flavor, with_queue

ROOT = Path(__file__).parents[2]


@pytest.fixture
def put(tmp_path):
    """Write a value as a file and return its name."""

    def write(value, name="input.json"):
        path = tmp_path / name
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return str(path)

    return write


def bodies(made):
    return [each.body for each in render(made)]


def run(*arguments, given=b"", **options):
    """Run the command as a program of its own."""
    command = [sys.executable, "-m", "kube", *arguments]
    return subprocess.run(
        command, input=given, capture_output=True, cwd=ROOT, check=False, **options
    )


# schema, check, render


def test_prints_the_schema(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


@pytest.mark.parametrize("name", EXAMPLES)
def test_checks_and_renders_the_examples(name, put, capsys):
    path = put(dump(example(name)))
    assert main(["check", path]) == 0
    assert main(["render", path]) == 0
    shown = capsys.readouterr()
    listed = json.loads(shown.out)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert listed["items"] == bodies(example(name))
    assert shown.err == ""


def test_tells_each_problem_on_a_line_with_its_field(put, capsys):
    path = put({"flavors": [{"name": "A", "capability": 1}, {"name": "b"}]})
    assert main(["render", path]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "error GP-2104 flavors[A].capability: expected a text, got a whole number: 1",
        "error GP-2103 flavors[b].capability: this field is required",
    ]


def test_broken_rules_are_bad_input(put, capsys):
    assert main(["check", put(dump(with_queue(cohort="nope")))]) == 2
    assert "tenants[nlp].queues[nlp-train].cohort" in capsys.readouterr().err


def test_warnings_are_told_and_do_not_stop(put, capsys):
    assert main(["render", put(dump(with_flavor(node_labels=())))]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("warning GP-2182 flavors[a100].node_labels: ")
    assert json.loads(shown.out)["kind"] == "List"


def test_refuses_its_own_output_when_it_is_unfit(put, capsys, monkeypatch):
    twice = (*render(catalog()), *render(catalog()))
    monkeypatch.setattr("kube.__main__.render", lambda _catalog: twice)
    assert main(["render", put(dump(catalog()))]) == 2
    assert "GP-2205" in capsys.readouterr().err


def test_writes_utf8_whatever_the_terminal_says():
    made = json.dumps(dump(catalog(tenants=()))).replace("Everyday", "每日").encode()
    done = run(
        "render", "-", given=made, env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0
    assert "每日" in done.stdout.decode("utf-8")


# diff


def test_equal_objects_are_no_difference(put, capsys):
    path = put(bodies(example("complete")))
    assert main(["diff", path, path]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_differences_are_listed_by_object_and_path(put, capsys):
    live = put({"kind": "List", "items": bodies(catalog())}, "live.json")
    wanted = put(bodies(with_queue(quotas=lines(9))), "wanted.json")
    assert main(["diff", live, wanted]) == 1
    changes = json.loads(capsys.readouterr().out)
    assert changes[-1] == {
        "object": "ClusterQueue/nlp-train",
        "path": "spec.resourceGroups[nvidia.com/gpu].flavors[a100]"
        ".resources[nvidia.com/gpu].nominalQuota",
        "before": "8",
        "after": "9",
        "kind": "change",
    }
    assert len(changes) == 3


def test_single_objects_can_be_compared(put, capsys):
    first, *_rest = bodies(catalog())
    assert main(["diff", put(first, "a.json"), put(first, "b.json")]) == 0
    assert main(["diff", put([], "a.json"), put(first, "b.json")]) == 1
    assert json.loads(capsys.readouterr().out.partition("\n")[2])[0]["kind"] == "add"


def test_one_side_comes_from_standard_input(put):
    path = put(bodies(catalog()))
    done = run("diff", "-", path, given=Path(path).read_bytes())
    assert (done.returncode, done.stdout) == (0, b"[]\n")


def test_both_sides_cannot_come_from_standard_input(capsys):
    assert main(["diff", "-", "-"]) == 2
    assert "only one input" in capsys.readouterr().err


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "x",
        [5],
        [{}],
        {"kind": "A"},
        {"kind": 1, "metadata": {"name": "a"}},
        [{"metadata": {}}],
        {"kind": "A", "metadata": []},
        {"kind": "A", "metadata": {"name": 5}},
        {"items": "x"},
    ],
)
def test_what_is_no_object_is_bad_input(value, put, capsys):
    path = put(value)
    assert main(["diff", path, path]) == 2
    assert "[0]: expected a Kubernetes object" in capsys.readouterr().err


def test_an_object_that_occurs_twice_is_bad_input(put, capsys):
    first, second, *_rest = bodies(catalog())
    path = put([first, second, first | {"spec": {"other": True}}])
    assert main(["diff", put(first, "a.json"), path]) == 2
    assert capsys.readouterr().err.startswith(f"error GP-2205 {path}[2]: the object Namespace/")


# Bad input


@pytest.mark.parametrize("command", [["check"], ["render"], ["diff", "-"]])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x01\x02\xff",
        bytes(range(256)),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a": 1, "a": 2}',
        b"NaN",
        b"9" * 5000,
        b"[1e999]",
        b'"\\ud800"',
        b"flavors: []",
        "{}".encode("utf-16"),
    ],
)
def test_garbage_is_one_line_of_complaint(command, data, put, capsys):
    assert main([*command, put(data)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error GP-21")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [("/no/such/file", "No such file"), ("/", "Is a directory"), ("a\0b", "not a file name")],
)
def test_files_that_cannot_be_read_are_named(name, words, capsys):
    assert main(["check", name]) == 2
    assert words in capsys.readouterr().err


def test_large_files_are_refused(put, capsys):
    assert main(["check", put(b" " * 5_000_001)]) == 2
    assert "at most 5000000 bytes" in capsys.readouterr().err


@given(st.binary(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_end_without_a_traceback(put, data):
    path = put(data)
    assert main(["check", path]) in (0, 2)
    assert main(["diff", path, path]) in (0, 2)


@pytest.mark.parametrize("command", [["check"], ["diff", "/dev/zero"]])
def test_a_file_without_an_end_is_refused(command, capsys, monkeypatch):
    monkeypatch.setattr("kube.__main__.MAX_LIVE_BYTES", 5_000_000)
    assert main([*command, "/dev/zero"]) == 2
    assert "at most 5000000 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("schema", ">/dev/full"), b"No space left on device"),
        (("schema", ">&-"), b"standard output is closed"),
        (("check", "-", "<&-"), b"standard input is closed"),
        (("check", "/no/such/file", "2>&-"), b""),
        (("check", "/no/such/file", "2>/dev/full"), b""),
    ],
)
def test_closed_and_full_ends_are_no_traceback(arguments, words):
    line = " ".join([sys.executable, "-m", "kube", *arguments])
    done = subprocess.run(["sh", "-c", line], capture_output=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", bool(words))
    assert words in done.stderr


@pytest.mark.parametrize("arguments", [["schema"], ["check", "/no/such/file"], ["check", "-"]])
def test_needs_no_standard_streams(arguments, monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert main(arguments) == 2


def test_a_check_has_nothing_to_write_and_needs_no_output(put, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["check", put(dump(catalog()))]) == 0


def test_an_answer_that_cannot_be_written_is_told(monkeypatch, capfd):
    def full(_value):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kube.__main__._print", full)
    monkeypatch.setattr("os.dup2", lambda *_ends: None)
    assert main(["schema"]) == 2
    assert capfd.readouterr().err.endswith("cannot be written: No space left on device\n")


def test_a_reader_that_leaves_is_no_traceback(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as pipe:
        command = [sys.executable, "-m", "kube", "schema"]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (2, b"")


def test_a_broken_pipe_ends_quietly(monkeypatch, capfd):
    def broken(_value):
        raise BrokenPipeError

    monkeypatch.setattr("kube.__main__._print", broken)
    monkeypatch.setattr("os.dup2", lambda *_ends: None)
    assert main(["schema"]) == 2
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("arguments", [[], ["delete"], ["render"], ["diff", "a"], ["schema", "x"]])
def test_wrong_use_is_bad_input(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kube", "schema"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(ROOT / "kube" / "__main__.py"), run_name="__main__")
    assert caught.value.code == 0


def test_needs_neither_django_nor_the_cluster_library():
    code = "import sys, kube.__main__; print([m for m in ('django', 'kubernetes') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    assert done.stdout == b"[]\n"
