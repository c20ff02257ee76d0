"""The client against a real API server: what an upgrade of either must not change."""

import copy

import pytest

from kube import errors
from kube.connection import Timeouts
from kube.kinds import CLUSTER_QUEUE
from kube.manifest import Ref
from kube.rbac import Identity
from tests.real import faultproxy as fault
from tests.real.conftest import eventually
from tests.real.objects import cluster_queue, cohort, local_queue, namespace

MANAGER = "gpuportal-quota"
SHORT = Timeouts(connect=1.0, read=1.0, total=3.0)


def ref(name):
    return Ref("ClusterQueue", "", name)


def merge_patch(admin, path, body):
    """Write as somebody else would: a merge patch, not an apply."""
    from kube.transport import Request

    query = (("fieldManager", "kubectl-edit"),)
    request = Request("PATCH", path, query, body, "application/merge-patch+json", writes=True)
    return admin.transport.send(request).json()


# --- applying ---------------------------------------------------------------------------------


def test_apply_creates_then_changes_nothing(applier, name):
    body = cluster_queue(name)
    before = copy.deepcopy(body)
    made = applier.apply(body, manager=MANAGER)
    again = applier.apply(body, manager=MANAGER, uid=made.uid)
    assert made.created
    assert not again.created
    assert again.object["metadata"]["generation"] == made.object["metadata"]["generation"]
    assert body == before


def test_every_call_sends_its_options_once(connect, proxy, name):
    client = connect(Identity.APPLIER, through=proxy)
    for _ in range(2):
        client.apply(cluster_queue(name), manager=MANAGER, dry_run=True)
    for entry in proxy.log:
        assert entry.query == {
            "fieldManager": MANAGER,
            "force": "false",
            "fieldValidation": "Strict",
            "dryRun": "All",
        }
    assert proxy.writes() == []


def test_a_dry_run_stores_nothing(applier, name):
    tried = applier.apply(cluster_queue(name), manager=MANAGER, dry_run=True)
    assert tried.resource_version == ""
    assert applier.get(ref(name)) is None


def test_conflict_names_the_other_manager(admin, applier, name):
    made = applier.apply(cluster_queue(name), manager=MANAGER)
    theirs = cluster_queue(name, "9")["spec"]["resourceGroups"]
    merge_patch(admin, CLUSTER_QUEUE.path(name), {"spec": {"resourceGroups": theirs}})
    with pytest.raises(errors.FieldConflict) as caught:
        applier.apply(cluster_queue(name, "10"), manager=MANAGER, uid=made.uid)
    assert caught.value.conflicts == (errors.Owner("kubectl-edit", ".spec.resourceGroups"),)
    forced = applier.apply(cluster_queue(name, "10"), manager=MANAGER, uid=made.uid, force=True)
    group = forced.object["spec"]["resourceGroups"][0]
    assert group["flavors"][0]["resources"][0]["nominalQuota"] == "10"


def test_what_is_not_sent_is_not_protected(admin, applier, name):
    body = cluster_queue(name)
    del body["spec"]["stopPolicy"]
    applier.apply(body, manager=MANAGER)
    merge_patch(admin, CLUSTER_QUEUE.path(name), {"spec": {"stopPolicy": "Hold"}})
    assert applier.apply(body, manager=MANAGER).object["spec"]["stopPolicy"] == "Hold"


def test_a_deleted_object_is_not_brought_back(admin, applier, name):
    made = applier.apply(cohort(name), manager=MANAGER)
    admin.delete(Ref("Cohort", "", name), uid=made.uid)
    with pytest.raises(errors.UidMismatch):
        applier.apply(cohort(name), manager=MANAGER, uid=made.uid)
    applier.apply(cohort(name), manager=MANAGER)
    with pytest.raises(errors.UidMismatch):
        applier.apply(cohort(name), manager=MANAGER, uid=made.uid)


def test_an_unknown_field_is_refused(applier, name):
    with pytest.raises(errors.ProgrammingError) as caught:
        applier.apply(cluster_queue(name, cohortNam="x"), manager=MANAGER)
    assert caught.value.field_problems() == [("spec.cohortNam", "field not declared in schema")]


def test_a_flavor_twice_is_a_defect(applier, name):
    body = cluster_queue(name)
    flavors = body["spec"]["resourceGroups"][0]["flavors"]
    flavors.append(flavors[0])
    with pytest.raises(errors.ProgrammingError):
        applier.apply(body, manager=MANAGER)


def test_a_schema_rule_is_mapped_to_its_field(applier, name):
    with pytest.raises(errors.SchemaRefused) as caught:
        applier.apply(cluster_queue(name, stopPolicy="Stop"), manager=MANAGER, dry_run=True)
    ((field, text),) = caught.value.field_problems()
    assert field == "spec.stopPolicy"
    assert "HoldAndDrain" in text


def test_a_webhook_is_mapped_to_its_field(applier, name):
    body = cluster_queue(name)
    quota = body["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    quota["lendingLimit"] = "4"
    with pytest.raises(errors.WebhookRefused) as caught:
        applier.apply(body, manager=MANAGER, dry_run=True)
    assert caught.value.webhook == "vclusterqueue.kb.io"
    ((field, text),) = caught.value.field_problems()
    assert field == "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit"
    assert "cohort" in text


def test_a_quantity_that_the_webhook_cannot_read(applier, name):
    with pytest.raises(errors.WebhookRefused) as caught:
        applier.apply(cluster_queue(name, "eight"), manager=MANAGER, dry_run=True)
    assert caught.value.status == 400


def test_a_namespace_that_does_not_exist(applier, name):
    with pytest.raises(errors.NamespaceMissing):
        applier.apply(local_queue("q", name, name), manager=MANAGER, dry_run=True)


def test_a_terminating_object_is_told(admin, applier, name):
    made = applier.apply(cluster_queue(name), manager=MANAGER)
    merge_patch(admin, CLUSTER_QUEUE.path(name), {"metadata": {"finalizers": ["test.local/stay"]}})
    assert admin.delete(ref(name), uid=made.uid) is False
    with pytest.raises(errors.Terminating):
        applier.apply(cluster_queue(name, "9"), manager=MANAGER, uid=made.uid)
    merge_patch(admin, CLUSTER_QUEUE.path(name), {"metadata": {"finalizers": None}})
    eventually(lambda: admin.get(ref(name)) is None)


def test_a_terminating_namespace_is_told(admin, applier, name):
    body = namespace(name)
    body["metadata"]["finalizers"] = ["test.local/stay"]
    made = admin.apply(body, manager=MANAGER)
    admin.delete(Ref("Namespace", "", name), uid=made.uid)
    with pytest.raises(errors.Terminating):
        applier.apply(local_queue("q", name, name), manager=MANAGER)
    path = f"/api/v1/namespaces/{name}"
    merge_patch(admin, path, {"metadata": {"finalizers": None}})


def test_a_missing_right_is_named(reader, name):
    with pytest.raises(errors.Forbidden) as caught:
        reader.apply(cluster_queue(name), manager=MANAGER, dry_run=True)
    assert caught.value.verb == "patch"
    assert caught.value.resource == "clusterqueues.kueue.x-k8s.io"


def test_warnings_of_the_server_are_kept(admin, name):
    body = namespace(name)
    body["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "no-such-level"}
    with pytest.raises(errors.ClusterError):
        admin.apply(body, manager=MANAGER)
    found = admin.transport.send(_v1beta1())
    assert any("deprecated" in text for text in found.warnings)


def _v1beta1():
    from kube.transport import Request

    return Request("GET", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", (("limit", "1"),))


def test_a_priority_beyond_32_bits_is_accepted_by_the_cluster(admin, name):
    """Only the portal's own check stands between such a number and a stopped Kueue."""
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": 3_000_000_000,
    }
    tried = admin.apply(body, manager=MANAGER, dry_run=True)
    assert tried.object["value"] == 3_000_000_000


# --- reading ----------------------------------------------------------------------------------


def test_absent_is_none_and_an_unknown_kind_is_an_error(admin, name):
    assert admin.get(ref(name)) is None
    with pytest.raises(errors.KindMissing):
        admin.raw("/apis/no.such.group/v1/things")


def test_pages_hold_everything_once(applier, reader, name):
    wanted = {f"{name}-{number}" for number in range(7)}
    for each in wanted:
        applier.apply(cohort(each), manager=MANAGER)
    pages = list(reader.list("Cohort", limit=3))
    found = [item["metadata"]["name"] for page in pages for item in page.items]
    assert wanted <= set(found)
    assert len(found) == len(set(found))
    assert [page.last for page in pages] == [False] * (len(pages) - 1) + [True]


def test_an_expired_position_restarts_the_list(connect, applier, proxy, name):
    wanted = {f"{name}-{number}" for number in range(5)}
    for each in wanted:
        applier.apply(cohort(each), manager=MANAGER)
    proxy.rules.add(verb="GET", path="cohorts", nth=2, action=fault.fail(410, "too old", "Expired"))
    pages = list(connect(Identity.READER, through=proxy).list("Cohort", limit=2))
    assert [page.restarted for page in pages[:2]] == [False, True]
    names = {item["metadata"]["name"] for page in pages[1:] for item in page.items}
    assert wanted <= names


def test_the_version_and_the_clock(reader):
    assert reader.version().git.startswith("v1.")
    assert abs(reader.clock_skew) < 2


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.fault
@pytest.mark.parametrize(
    ("action", "expected", "reached"),
    [
        (fault.fail(429, Retry_After="7"), errors.Throttled, False),
        (fault.webhook_down(), errors.WebhookDown, False),
        (fault.fail(401), errors.Credential, False),
        (fault.fail(503), errors.Unavailable, False),
        (fault.drop(), errors.Unknown, False),
        (fault.drop_answer(), errors.Unknown, True),
        (fault.truncate(), errors.Unknown, True),
        (fault.garbage(), errors.Protocol, False),
        (fault.delay(2.5), errors.Unknown, True),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_faults_of_a_write(connect, proxy, applier, name, action, expected, reached):
    proxy.rules.add(verb="PATCH", action=action)
    client = connect(Identity.APPLIER, through=proxy, timeouts=SHORT)
    with pytest.raises(expected) as caught:
        client.apply(cluster_queue(name), manager=MANAGER)
    assert type(caught.value) is expected
    assert caught.value.outcome_unknown is (
        expected in (errors.Unknown, errors.Protocol) or (expected is errors.Unavailable)
    )
    assert len([entry for entry in proxy.log if entry.verb == "PATCH"]) <= 1
    assert (applier.get(ref(name)) is not None) is reached
    if expected is errors.Throttled:
        assert caught.value.retry_after == 7


@pytest.mark.fault
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (fault.drop(), errors.Unreachable),
        (fault.truncate(), errors.Protocol),
        (fault.delay(2.5), errors.Unreachable),
        (fault.slow(0.9), errors.Protocol),
        (fault.fail(302, Location="https://127.0.0.1:1/"), errors.Protocol),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_faults_of_a_read(connect, proxy, action, expected):
    proxy.rules.add(verb="GET", path="resourceflavors", action=action, times=None)
    client = connect(Identity.READER, through=proxy, timeouts=SHORT)
    with pytest.raises(expected) as caught:
        list(client.list("ResourceFlavor"))
    assert type(caught.value) is expected
    assert not caught.value.outcome_unknown


@pytest.mark.fault
def test_a_dry_run_without_an_answer_is_not_unknown(connect, proxy, name):
    proxy.rules.add(verb="PATCH", action=fault.drop_answer())
    client = connect(Identity.APPLIER, through=proxy, timeouts=SHORT)
    with pytest.raises(errors.Unreachable):
        client.apply(cluster_queue(name), manager=MANAGER, dry_run=True)


class Tokens:
    """Hands out a dead token first."""

    def __init__(self, good):
        self.good, self.refreshed = good, 0

    def token(self):
        return self.good if self.refreshed else "dead.token.value"

    def refresh(self):
        self.refreshed += 1
        return self.good


def test_a_refused_token_is_renewed_once(connect, reader, proxy):
    tokens = Tokens(reader.connection.token)
    client = connect(Identity.READER, through=proxy, tokens=tokens)
    assert client.version()
    assert client.whoami().endswith(":gpuportal-reader")
    assert tokens.refreshed == 1
    proxy.rules.add(action=fault.fail(401), times=None)
    with pytest.raises(errors.Credential):
        client.version()
    assert tokens.refreshed == 2


def test_an_answer_that_is_too_large_is_given_up(reader):
    from kube.transport import Request

    with pytest.raises(errors.Protocol):
        reader.transport.send(Request("GET", "/openapi/v2"), limit=10_000)


def test_the_guard_comes_before_every_call(connect):
    client = connect(Identity.READER)

    def forbid():
        raise RuntimeError("inside a transaction")

    client.guard = forbid
    with pytest.raises(RuntimeError):
        client.version()
