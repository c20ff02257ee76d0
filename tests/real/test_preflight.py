"""The check of a registered cluster, with exactly the identities of deploy/rbac."""

import pytest

from kube import rbac
from queues.models import Credential, Link
from queues.services import links, preflight
from tenants.models import AuditEvent
from tests.real import registered

pytestmark = pytest.mark.xdist_group("apply")


def register(admin, place, actor, **tokens):
    issued = {who: rbac.issue_token(admin, who, 3600).value for who in rbac.Identity}
    return links.register_cluster(
        actor=actor, slug="checked", display_name="Checked", server=place.server,
        ca_pem=place.ca_pem, reader_token=tokens.get("reader", issued[rbac.Identity.READER]),
        applier_token=issued[rbac.Identity.APPLIER],
    )  # fmt: skip


@pytest.fixture
def ann(transactional_db, settings):
    registered.seal_with_fresh_keys(settings)
    return registered.person("ann", "admin")


def test_the_least_rights_are_enough_and_tokens_renew_themselves(ann, admin, place):
    cluster = register(admin, place, ann)
    preflight.run(cluster.pk)
    link = Link.objects.get(cluster=cluster)
    assert link.preflight["ok"], link.preflight
    assert link.preflight["reader"]["user"].endswith(":gpuportal-reader")
    assert link.capabilities["served"]
    assert abs(link.clock_skew_seconds) <= 2
    for row in Credential.objects.all():
        assert (row.expires_at - row.renewed_at).total_seconds() > 23 * 3600
    assert links.renew_due(cluster) == 0
    assert AuditEvent.objects.filter(action="cluster.preflight", outcome="done").count() == 1
    assert not preflight.due().exists()


def test_a_credential_with_other_rights_than_its_own_is_refused(ann, admin, place):
    writer = rbac.issue_token(admin, rbac.Identity.APPLIER, 3600).value
    cluster = register(admin, place, ann, reader=writer)
    preflight.run(cluster.pk)
    link = Link.objects.get(cluster=cluster)
    assert not link.preflight["ok"]
    assert any(right.startswith("patch ") for right in link.preflight["reader"]["surplus"])
    assert any("workloads" in right for right in link.preflight["reader"]["missing"])
    with pytest.raises(Exception, match="preflight"):
        links.set_writing(actor=ann, cluster=cluster, on=True)


def test_a_cluster_that_does_not_answer_is_said_not_raised(ann, admin, place):
    cluster = register(admin, place, ann)
    Link.objects.update(server="https://127.0.0.1:9")
    preflight.run(cluster.pk)
    link = Link.objects.get(cluster=cluster)
    assert link.check_error.startswith("GP-3117")
    assert "could not be renewed" in Credential.objects.first().problem
