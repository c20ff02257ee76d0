import json

import pytest

from cluster.__main__ import main


@pytest.fixture(autouse=True)
def nothing_runs_here(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_job_can_be_looked_at_without_a_cluster(capsys):
    command = "job train --queue gpu --gpus 4 --seconds 5 --tolerate gpu --dry-run --kind jobset"
    assert main(command.split()) == 0
    job = json.loads(capsys.readouterr().out)
    assert job["kind"] == "JobSet"
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "gpu"}


def test_the_state_of_what_does_not_run(capsys):
    assert main(["status"]) == 1
    state = json.loads(capsys.readouterr().out)
    assert (state["state"], state["ready"]) == ("down", False)
    assert main(["down"]) == 0
    assert "was not running" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("kubeconfig", "no cluster is running"),
        ("job x --pods 0", "at least one pod"),
        ("status --name A", "cluster name 'A'"),
        ("up --nodes many", "use two-teams or COUNTxGPUS"),
        ("up --foreground --nodes two-teams", "in the background"),
    ],
)
def test_what_a_person_can_mend_is_one_line(capsys, command, text):
    assert main(command.split()) == 1
    told = capsys.readouterr().err
    assert text in told
    assert told.count("\n") == 1
