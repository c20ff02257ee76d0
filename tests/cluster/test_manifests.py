from cluster.api import path_of, resource
from cluster.manifests import split_documents
from cluster.paths import check_name, data_dir


def test_documents_of_comments_alone_are_no_documents():
    text = "---\n# Source: a\n---\n# only this\n\n---\n# head\nkind: A\n--- \nkind: B\n"
    found = split_documents(text)
    assert len(found) == 2
    assert "kind: A" in found[0]
    assert "kind: B" in found[1]


def test_plurals_and_paths():
    assert resource("WorkloadPriorityClass") == "workloadpriorityclasses"
    assert resource("NetworkPolicy") == "networkpolicies"
    assert resource("Topology") == "topologies"
    assert resource("APIService") == "apiservices"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "n"},
    }
    assert path_of(role) == "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles/r"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}
    assert path_of(node) == "/api/v1/nodes/x"


def test_folders_follow_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert data_dir("a") == tmp_path / "gpu-quota-portal" / "clusters" / "a"
    assert data_dir("a", tmp_path / "own") == tmp_path / "own"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert data_dir("a").is_absolute()


def test_names_that_are_no_folder_are_refused():
    for name in ("", "..", "a/b", "A", "-a", "a" * 41):
        try:
            check_name(name)
        except ValueError:
            continue
        raise AssertionError(name)
