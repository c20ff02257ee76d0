"""From bytes to objects: only what is wanted, and nothing odd stops the reading."""

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import errors, kinds, shapes
from kube.explain import explain
from kube.wire import Mark, Reader, Source, batches

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("workloads-*.json"))
META = {"name": "a", "uid": "u", "resourceVersion": "7"}


def source(**more):
    return Source(kinds.WORKLOAD, shapes.Workload, **more)


def line(change, item):
    return json.dumps({"type": change, "object": item}).encode()


def read(*lines, **more):
    return list(Reader(source(**more)).lines(list(lines)))


def test_reads_changes_that_came_together_as_one():
    first, second = {"metadata": META}, {"metadata": META | {"name": "b"}}
    found = read(line("ADDED", first), line("DELETED", second))
    assert found == [[("ADDED", first), ("DELETED", second)]]


def test_reads_marks_between_changes():
    mark = {"metadata": {"resourceVersion": "9"}}
    ended = {"metadata": mark["metadata"] | {"annotations": {"k8s.io/initial-events-end": "true"}}}
    item = {"metadata": META}
    found = read(line("ADDED", item), line("BOOKMARK", ended), line("BOOKMARK", mark))
    assert found == [[("ADDED", item)], Mark("9", complete=True), Mark("9")]


def test_leaves_out_what_is_not_wanted():
    item = {
        "metadata": META | {"managedFields": [{}], "selfLink": "x"},
        "spec": {"podSets": [{"template": {"spec": {"containers": [{"env": [], "name": "c"}]}}}]},
    }
    ((_, found),) = read(line("MODIFIED", item))[0]
    assert found == {
        "metadata": META,
        "spec": {"podSets": [{"template": {"spec": {"containers": [{"name": "c"}]}}}]},
    }


def test_an_object_of_odd_form_is_read_as_it_is():
    odd = {"metadata": META, "spec": {"podSets": "none"}}
    assert read(line("ADDED", odd)) == [[("ADDED", odd)]]
    body = json.dumps({"metadata": {"resourceVersion": "5"}, "items": [odd]}).encode()
    assert Reader(source()).page(body) == ([odd], "5", "")


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (b"not json", errors.Unreachable),
        (b"[1]", errors.Unreachable),
        (b'{"type":"ADDED"}', errors.Unreachable),
        (b'{"type":"ADDED","object":{}}', errors.Unreachable),
        (b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}', errors.Unreachable),
        (b'{"type":"BOOKMARK","object":{}}', errors.Unreachable),
        (b'{"type":"NEW","object":{"metadata":{}}}', errors.Protocol),
        (b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}', errors.Gone),
        (b'{"type":"ERROR","object":[]}', errors.Unreachable),
    ],
)
def test_what_came_before_a_broken_line_is_kept(broken, error):
    reading = Reader(source()).lines([line("ADDED", {"metadata": META}), broken])
    assert next(reading) == [("ADDED", {"metadata": META})]
    with pytest.raises(error):
        next(reading)


def test_an_object_that_is_no_longer_wanted_is_told_as_deleted():
    reader = Reader(source(keep=lambda item: item["metadata"]["name"] == "a"))
    wanted, other = {"metadata": META}, {"metadata": META | {"name": "b"}}
    given = [("ADDED", wanted), ("ADDED", other), ("MODIFIED", other), ("DELETED", other)]
    assert reader.kept(given) == [("ADDED", wanted), ("DELETED", other), ("DELETED", other)]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"metadata":[]}', b'{"kind":"Status"}'])
def test_what_is_no_list_is_refused(body):
    with pytest.raises(errors.Protocol):
        Reader(source()).page(body)


class Response:
    """An answer that arrives in parts of any size."""

    def __init__(self, data, sizes):
        self.parts = []
        for size in sizes:
            self.parts.append(data[:size])
            data = data[size:]
        self.parts.append(data)

    def read1(self, _amount):
        while self.parts:
            part = self.parts.pop(0)
            if part:
                return part
        return b""


@given(
    st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"")), max_size=12),
    st.lists(st.integers(0, 50), max_size=40),
    st.binary(max_size=9).map(lambda raw: raw.replace(b"\n", b"")),
)
def test_lines_are_whole_however_they_arrive(lines, sizes, cut):
    data = b"".join(each + b"\n" for each in lines) + cut
    found = [each for batch in batches(Response(data, sizes), threading.Event()) for each in batch]
    assert found == [each for each in lines if each.strip()]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_nothing_that_explains_a_workload_is_left_out(path):
    for name, whole in json.loads(path.read_text()).items():
        item = whole | {"metadata": META | whole["metadata"]}
        ((_, read_),) = read(line("ADDED", item))[0]
        assert explain(read_) == explain(item), name
