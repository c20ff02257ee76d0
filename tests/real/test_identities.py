"""The portal's own identities, exactly as deploy/rbac makes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from kube import errors, rbac
from kube.capabilities import look
from kube.client import ClusterClient
from kube.connection import Connection
from kube.kinds import CONFIG_MAP
from kube.manifest import Ref
from kube.preflight import preflight
from kube.rbac import Identity
from tests.stack import wait_for

# These change what the reader may do while they run; whoever looks at its rights waits for them.
pytestmark = pytest.mark.xdist_group("apply")


@pytest.mark.parametrize("who", list(Identity))
def test_each_identity_has_exactly_its_rights(connect, who):
    report = preflight(connect(who), who)
    assert report.ok, (report.missing, report.surplus)
    assert report.user == f"system:serviceaccount:gpuportal-system:{who}"
    assert not report.incomplete


def test_an_administrator_has_far_too_many(admin):
    report = preflight(admin, Identity.READER)
    assert report.missing == ()
    surplus = {str(right) for right in report.surplus}
    assert {
        "* *.*",
        "get secrets",
        "create pods",
        "patch workloads/status.kueue.x-k8s.io",
        "escalate clusterroles.rbac.authorization.k8s.io",
        "impersonate users",
        "create serviceaccounts/token",
        "patch validatingadmissionpolicies.admissionregistration.k8s.io",
    } <= surplus
    assert not report.ok


def test_the_wrong_identity_is_found_out(connect):
    report = preflight(connect(Identity.APPLIER), Identity.READER)
    assert "list workloads.kueue.x-k8s.io" in {str(right) for right in report.missing}
    surplus = {str(right) for right in report.surplus}
    assert "patch clusterqueues.kueue.x-k8s.io" in surplus
    assert "create serviceaccounts/token gpuportal-applier in namespace gpuportal-system" in surplus


@contextmanager
def granted(admin, reader, *objects) -> Iterator[None]:
    """Rights of the reader for as long as this lasts; the server takes a moment to forget them."""
    made = [admin.apply(each, manager="test") for each in objects]
    try:
        yield
    finally:
        for each in made:
            metadata = each.object["metadata"]
            ref = Ref(each.object["kind"], metadata.get("namespace", ""), metadata["name"])
            admin.delete(ref, uid=each.uid)
    wait_for(lambda: preflight(reader, Identity.READER).ok)


def test_a_right_that_somebody_added_is_named(admin, connect, name):
    kinds = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    rule = {"apiGroups": ["kueue.x-k8s.io"], "resources": ["*"], "verbs": ["delete"]}
    role = kinds | {"kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
    binding = kinds | {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name,
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": "gpuportal-reader", "namespace": rbac.NAMESPACE}
        ],
    }
    reader = connect(Identity.READER)
    with granted(admin, reader, role, binding):
        report = preflight(reader, Identity.READER)
        assert [str(right) for right in report.surplus] == ["delete *.kueue.x-k8s.io"]


def test_a_right_in_one_namespace_is_named_with_it(admin, connect, name):
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": "default"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [
            {"kind": "ServiceAccount", "name": "gpuportal-reader", "namespace": rbac.NAMESPACE}
        ],
    }
    reader = connect(Identity.READER)
    with granted(admin, reader, role, binding):
        report = preflight(reader, Identity.READER)
        assert [str(right) for right in report.surplus] == ["get secrets in namespace default"]


@pytest.mark.parametrize("who", list(Identity))
def test_an_identity_renews_its_own_token_and_no_other(connect, place, who):
    client = connect(who)
    token = client.create_token(rbac.NAMESPACE, who, 3600)
    life = token.expires_at - datetime.now(UTC)
    assert timedelta(minutes=55) < life < timedelta(minutes=65)
    assert token.value not in repr(token)
    renewed = Connection(server=place.server, ca_pem=place.ca_pem, token=token.value)
    with ClusterClient(renewed) as other:
        assert other.whoami() == f"system:serviceaccount:gpuportal-system:{who}"
    another = next(each for each in Identity if each is not who)
    with pytest.raises(errors.Forbidden):
        client.create_token(rbac.NAMESPACE, another, 3600)


def test_a_reader_cannot_read_other_configuration(reader):
    assert reader.get(Ref(CONFIG_MAP.name, rbac.KUEUE_NAMESPACE, rbac.KUEUE_CONFIG)) is not None
    with pytest.raises(errors.Forbidden):
        reader.get(Ref(CONFIG_MAP.name, "kube-system", "extension-apiserver-authentication"))


def test_what_the_cluster_can_do(reader):
    found = look(reader)
    assert found.served
    assert found.visibility
    assert found.missing == ()
    assert "batch/job" in found.job_kinds
    assert yaml.safe_load(found.configuration)["kind"] == "Configuration"
    assert found.as_json()["kubernetes"].startswith("v1.")
