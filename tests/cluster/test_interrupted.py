"""Starts that are broken off, owners that are killed, folders that are in the way."""

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster import Cluster, ClusterError, NotRunningError, control, instance
from cluster import supervisor as sup
from cluster.paths import PINS
from cluster.processes import ORDER
from tests.cluster.watching import processes_of, until

pytestmark = [pytest.mark.real, pytest.mark.fault, pytest.mark.xdist_group("own-cluster")]

CHECKOUT = PINS.parent.parent


def test_killed_with_the_process_it_belongs_to(tmp_path):
    code = (
        "import sys, os, time; from cluster import Cluster\n"
        "Cluster.start('short', sys.argv[1], parent_pid=os.getpid())\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "data")],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout.readline() == "ready\n"
    assert len(processes_of(tmp_path / "data")) == len(ORDER)
    owner.kill()
    owner.communicate()
    until(lambda: not processes_of(tmp_path / "data"), 15)
    until(lambda: not sup.is_held(tmp_path / "data"), 5)
    with pytest.raises(NotRunningError):
        Cluster.attach("short", tmp_path / "data")


def step_of(data):
    try:
        return control.ask(data, "status")["step"]
    except control.NotRunningError:
        return ""


def test_what_was_broken_off_is_mended(tmp_path):
    data = tmp_path / "data"
    settings = instance.prepare("broken", data, parent_pid=os.getpid())
    instance.launch(settings)
    until(lambda: step_of(data) == "objects", 120, every=0.02)
    time.sleep(0.5)
    os.kill(control.ask(data, "status")["supervisor"], signal.SIGKILL)
    until(lambda: not processes_of(data), 10)

    # Two at the same moment: one supervisor wins, and both get the same instance.
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: Cluster.start("broken", data), range(2)))
    assert both[0].supervisor_pid == both[1].supervisor_pid
    before = both[0].ports
    both[0].stop()

    with socket.socket() as other:
        other.bind(("127.0.0.1", before["kueue-webhook"]))
        other.listen()
        with Cluster.start("broken", data, parent_pid=os.getpid()) as again:
            changed = {name for name in before if again.ports[name] != before[name]}
            assert changed == {"kueue-webhook"}
            # Every request of this kind passes Kueue's webhook, which has moved.
            body = {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ClusterQueue",
                "metadata": {"name": "x"},
                "spec": {},
            }
            path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?dryRun=All"
            assert again.api.request("POST", path, body)["spec"]["stopPolicy"] == "None"
            again.stop(delete=True)
    assert not data.exists()
    assert not processes_of(data)


def test_a_start_that_cannot_work_says_why(tmp_path):
    data = tmp_path / "data"
    (data / "etcd").mkdir(parents=True)
    (data / "pki").write_text("in the way")
    with pytest.raises(ClusterError, match="could not be started"):
        Cluster.start("hopeless", data)


def test_a_folder_of_someone_else_is_not_deleted(tmp_path):
    (tmp_path / "thesis.txt").write_text("ten years of work")
    with pytest.raises(ClusterError, match="nothing is deleted"):
        instance.down(tmp_path, delete=True)
    assert (tmp_path / "thesis.txt").exists()
