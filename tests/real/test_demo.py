"""The demo as its visitor meets it: started, looked at, killed, started again, thrown away."""

import http.cookiejar
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from portal.embedded import places
from tests.stack import wait_for

pytestmark = [pytest.mark.real, pytest.mark.fault, pytest.mark.xdist_group("own-cluster")]

ROOT = Path(__file__).parents[2]
START = 300.0  # seconds; a shared machine may be slow, a dead demo ends at once
GONE = 60.0


@pytest.fixture
def folder(control_plane):
    """A folder that the database's user can pass; the built control plane is there already."""
    made = Path(tempfile.mkdtemp(prefix="gpuportal-demo-"))
    made.chmod(0o711)
    yield made / "data"
    shutil.rmtree(made, ignore_errors=True)


def start(folder: Path) -> tuple[subprocess.Popen, str]:
    """Start the demo; return its process and the address that it printed."""
    command = [sys.executable, "manage.py", "demo", "--data", str(folder)]
    log = folder.with_suffix(".log")
    with log.open("wb") as output:
        demo = subprocess.Popen(
            [*command, "--port", str(places.free_port())],
            cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    until = time.monotonic() + START
    while time.monotonic() < until:
        said = log.read_text()
        if found := re.search(r"Open +(http://127\.0\.0\.1:\d+)", said):
            return demo, found[1]
        assert demo.poll() is None, said
        time.sleep(0.2)
    demo.kill()
    raise AssertionError(log.read_text())


class Visitor:
    """A browser without scripts."""

    def __init__(self, address: str) -> None:
        self.address = address
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.open = urllib.request.build_opener(jar).open

    def get(self, path: str) -> str:
        with self.open(self.address + path, timeout=30) as answer:
            return answer.read().decode()

    def sign_in(self, username: str) -> None:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get("/"))[1]
        form = {"csrfmiddlewaretoken": token, "username": username}
        request = urllib.request.Request(  # noqa: S310 - the demo that this test started
            self.address + "/demo/sign-in",
            data=urllib.parse.urlencode(form).encode(),
            headers={"Referer": self.address + "/"},
        )
        with self.open(request, timeout=30) as answer:
            assert answer.status == 200

    def wait_for(self, path: str, *words: str) -> str:
        until = time.monotonic() + START
        while time.monotonic() < until:
            page = self.get(path)
            if all(word in page for word in words):
                return page
            time.sleep(1)
        raise AssertionError(page)


def of(folder: Path) -> set[int]:
    """Return the processes that have to do with this folder."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            told = each.read_bytes() + each.with_name("cmdline").read_bytes()
            state = each.with_name("stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if str(folder).encode() in told and state != "Z":
            found.add(int(each.parent.name))
    return found


def engines_of(folder: Path) -> set[int]:
    """Return the processes of the control plane in this folder."""
    names = ("kube-apiserver", "etcd", "kueue")
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in of(folder)}
    found = {
        pid for pid, line in commands.items() if Path(line.split(b"\0")[0].decode()).name in names
    }
    assert len(found) == len(names)
    return found


def test_started_killed_started_again_and_thrown_away(folder):
    first, address = start(folder)
    visitor = Visitor(address)
    visitor.sign_in("bob")
    waiting = visitor.wait_for("/jobs/?state=waiting", "train-bert", "GPU")
    assert "Waiting" in waiting
    assert len(of(folder)) > 8

    first.kill()
    first.wait()
    wait_for(lambda: not of(folder))

    second, address = start(folder)
    again = Visitor(address)
    again.sign_in("carol")
    assert "cv-train" in again.get("/requests/?show=decide")
    ask = [sys.executable, "manage.py", "demo", "--data", str(folder)]
    told = subprocess.run(
        [*ask, "--do", "check"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "no issues" in told.stdout
    refused = subprocess.run(
        [*ask, "--reset"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (refused.returncode, "in use by the process" in refused.stderr) == (1, True)
    control_plane = engines_of(folder)
    beside = subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (beside.returncode, "in use by the process" in beside.stderr) == (1, True)
    assert engines_of(folder) == control_plane
    assert "cv-train" in again.get("/requests/?show=decide")

    second.send_signal(signal.SIGINT)
    assert second.wait(GONE) == 0
    # A child of a child may end a moment after it.
    wait_for(lambda: not of(folder))

    reset = [sys.executable, "manage.py", "demo", "--reset", "--data", str(folder)]
    subprocess.run(reset, cwd=ROOT, check=True, capture_output=True)
    assert not folder.exists()
