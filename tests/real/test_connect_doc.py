"""docs/connect-a-cluster.md does what it says, on a real cluster."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kube.client import ClusterClient
from kube.credentials import read_kubeconfig
from kube.preflight import preflight
from kube.rbac import Identity
from tests.real.conftest import OUTSIDE

pytestmark = pytest.mark.xdist_group("apply")

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs" / "connect-a-cluster.md"
FILES = {who: f"{who}.kubeconfig" for who in Identity}


@pytest.fixture
def shell(request, tmp_path):
    """Return a function that runs one block of the page as the administrator."""
    if os.environ.get(OUTSIDE):
        kubeconfig, kubectl = os.environ[OUTSIDE], shutil.which("kubectl")
        if kubectl is None:
            pytest.skip("no kubectl on the path")
    else:
        plane = request.getfixturevalue("control_plane")
        kubeconfig, kubectl = str(plane.kubeconfig_path), str(plane.kubectl_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(kubectl)
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    environment = {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "KUBECONFIG": kubeconfig,
    }

    def run(block):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_page(admin, shell, tmp_path):
    install, make, use, forget, _remove = re.findall(r"```sh\n(.*?)```", DOC.read_text(), re.S)
    # The server-side applies of the other tests own these objects as well; kubectl must not mind.
    shell(install)
    shell(make)
    answers = shell(use)
    assert answers.rstrip().endswith("no")
    for who, file in FILES.items():
        assert (tmp_path / file).stat().st_mode & 0o077 == 0
        connection = read_kubeconfig((tmp_path / file).read_text())
        with ClusterClient(connection) as client:
            report = preflight(client, who)
        assert report.ok, (report.missing, report.surplus)
    shell(forget)
    assert not any((tmp_path / file).exists() for file in FILES.values())
