"""The parts of the cluster door that need no cluster."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kube import kinds, rbac
from kube.capabilities import Capabilities, KindState, image_version
from kube.client import ref_of
from kube.connection import check_server, check_token
from kube.errors import ProgrammingError
from kube.manifest import Ref
from kube.preflight import DANGEROUS, Right
from kube.rbac import Identity
from kube.transport import encode, parse_warnings
from kube.visibility import _positions

DEPLOY = Path(__file__).parents[2] / "deploy" / "rbac"


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("namespace", rbac.namespace_manifests()),
        ("reader", rbac.identity_manifests(Identity.READER)),
        ("applier", rbac.identity_manifests(Identity.APPLIER)),
    ],
)
def test_the_files_to_apply_are_the_rights_that_are_checked(file, wanted):
    written = list(yaml.safe_load_all((DEPLOY / f"{file}.yaml").read_text()))
    assert written == wanted


def _granted(who):
    return {
        (verb, resource, rule.group)
        for rule in rbac.rules(who)
        for verb in rule.verbs
        for resource in rule.resources
    }


def test_the_reader_writes_nothing():
    writes = {verb for verb, _, group in _granted(Identity.READER) if "io" not in group}
    assert writes <= {"get", "list", "watch", "create"}
    creates = {resource for verb, resource, _ in _granted(Identity.READER) if verb == "create"}
    assert creates == {
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "selfsubjectreviews",
        "serviceaccounts/token",
    }


@pytest.mark.parametrize("who", list(Identity))
def test_no_identity_has_a_dangerous_right(who):
    granted = _granted(who)
    for right in DANGEROUS:
        names = [rule.names for rule in rbac.rules(who) if right.resource in rule.resources]
        held = (right.verb, right.resource, right.group) in granted
        assert not held or all(names), right
    assert not any("*" in part for each in granted for part in each)
    assert not any(verb == "delete" for verb, _, _ in granted)


def test_a_right_in_words():
    assert str(Right("get", "secrets", namespace="a")) == "get secrets in namespace a"
    assert str(Right("get", path="/metrics")) == "get /metrics"


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        (
            Ref("ClusterQueue", "", "a"),
            "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/a",
        ),
        (Ref("Namespace", "", "a"), "/api/v1/namespaces/a"),
        (
            Ref("LocalQueue", "ns", "a"),
            "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/localqueues/a",
        ),
        (
            Ref("ClusterRole", "", "system:a"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa",
        ),
    ],
)
def test_paths(ref, path):
    assert kinds.path_of(ref) == path


@pytest.mark.parametrize(
    "ref",
    [
        Ref("Secret", "ns", "a"),
        Ref("ClusterQueue", "ns", "a"),
        Ref("LocalQueue", "", "a"),
        *(
            Ref("ClusterQueue", "", name)
            for name in ("", "..", "a/b", "a?b", "A", "a\n", "a" * 300)
        ),
        Ref("LocalQueue", "../x", "a"),
    ],
)
def test_paths_that_are_refused(ref):
    with pytest.raises(ProgrammingError):
        kinds.path_of(ref)


@given(st.text(max_size=40))
def test_no_name_leaves_its_place_in_a_path(name):
    try:
        path = kinds.CLUSTER_QUEUE.path(name)
    except ProgrammingError:
        return
    assert path.startswith("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/")
    assert path.count("/") == 5
    assert not set(path) & set("?#\\ \n")


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta1", "metadata": {"name": "a"}},
        {"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {}},
        {"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta2"},
        {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "b"}},
        {
            "kind": "ClusterQueue",
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "metadata": {"name": "a", "managedFields": []},
        },
    ],
)
def test_manifests_that_are_never_sent(body):
    with pytest.raises(ProgrammingError):
        ref_of(body)


@pytest.mark.parametrize(
    "server",
    [
        "https://10.0.0.1:6443",
        "https://k8s.example.com",
        "https://[fd00::1]:6443",
        "https://rancher.example.com/k8s/clusters/c-1",
    ],
)
def test_servers(server):
    assert check_server(server) == server


@pytest.mark.parametrize(
    "server",
    [
        "http://a",
        "ftp://a",
        "https://",
        "https://a b",
        "https://a@b",
        "https://a#b",
        "https://a/..%2f",
        "https://a/../b",
        "https://a\\b",
        "https://a:0",
        "https://a:70000",
        "https://[::1",
        "//a",
        "",
    ],
)
def test_servers_that_are_refused(server):
    with pytest.raises(ProgrammingError):
        check_server(server)


@pytest.mark.parametrize("token", ["", " ", "a b", "a\r\nb", "a\x00", "ä", "a" * 20_000])
def test_tokens_that_are_refused_are_not_shown(token):
    with pytest.raises(ProgrammingError) as caught:
        check_token(token)
    assert not token.strip() or token not in str(caught.value)


def test_what_json_cannot_carry_is_a_defect():
    assert encode(None) is None
    for body in ({"a": object()}, {"a": 2**70}, {1: 2}):
        with pytest.raises(ProgrammingError):
            encode(body)


def test_warnings():
    text = '299 - "unknown field \\"spec.foo\\"", 299 - "second"'
    assert parse_warnings({"Warning": text}) == ('unknown field "spec.foo"', "second")
    assert parse_warnings({}) == ()


def test_positions_of_a_list_that_moved_between_two_pages():
    def item(name, queue="q"):
        return {
            "metadata": {"namespace": "n", "name": name},
            "localQueueName": queue,
            "priority": None,
        }

    found = list(_positions([item("a"), item("b", "r"), item("b", "r"), item("c"), {}]))
    assert [(each.name, each.position, each.entry_position) for each in found] == [
        ("a", 0, 0),
        ("b", 1, 0),
        ("c", 2, 1),
        ("", 3, 0),
    ]


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.example/kueue/kueue:v0.17.0", "0.17.0"),
        ("registry.example:5000/kueue:v0.18.6@sha256:abc", "0.18.6"),
        ("registry.example:5000/kueue:main", ""),
        ("registry.example:5000/kueue", ""),
    ],
)
def test_the_version_of_an_image(image, version):
    manager = {"spec": {"template": {"spec": {"containers": [{"image": image}]}}}}
    assert image_version(manager) == version


def test_capabilities_name_what_is_missing():
    old = KindState("clusterqueues", ("v1beta1",), ("v1beta1",))
    found = Capabilities("v1.35.4", kueue_kinds=(old, KindState("cohorts", ("v1beta2",))))
    assert found.missing == ("clusterqueues",)
    assert not found.served
    assert found.as_json()["missing"] == ["clusterqueues"]
    assert not Capabilities("v1.35.4").served
