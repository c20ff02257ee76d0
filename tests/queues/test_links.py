"""Credentials that the web process stores and cannot read; registering; switching writing on."""

import os
import subprocess
import sys
from ipaddress import ip_network

import pytest
from django.db import transaction

from cluster.certs import issue
from kube import errors
from portal.web.errors import DomainError
from queues import sealing
from queues.models import Credential, Link
from queues.services import links
from tenants.access import Denied
from tenants.models import AuditEvent, Cluster

TOKEN = "abc.def.ghi"
CA = issue("test-ca").cert_pem.decode()


@pytest.fixture
def keys(settings):
    settings.SEALING_PUBLIC_KEY, settings.SEALING_PRIVATE_KEY = sealing.new_key_pair()


def register(cast, **changes):
    facts = {
        "slug": "new", "display_name": "New", "server": "https://127.0.0.1:1", "ca_pem": CA,
        "reader_token": TOKEN, "applier_token": "jkl.mno.pqr",
    }  # fmt: skip
    return links.register_cluster(actor=cast.dave, **(facts | changes))


def test_a_sealed_token_opens_for_its_purpose_only(keys):
    sealed, key = sealing.seal(TOKEN, purpose="1:reader")
    assert TOKEN.encode() not in sealed
    assert sealing.unseal(sealed, key, purpose="1:reader") == TOKEN
    with pytest.raises(sealing.SealError):
        sealing.unseal(sealed, key, purpose="2:reader")


def test_without_the_private_key_nothing_opens(keys, settings):
    sealed, key = sealing.seal(TOKEN, purpose="1:reader")
    settings.SEALING_PRIVATE_KEY = ""
    assert not sealing.can_open()
    with pytest.raises(sealing.SealError, match="no private key"):
        sealing.unseal(sealed, key, purpose="1:reader")


def test_another_or_a_broken_key_is_named_by_its_id(keys, settings):
    sealed, key = sealing.seal(TOKEN, purpose="1:reader")
    settings.SEALING_PRIVATE_KEY = sealing.new_key_pair()[1]
    with pytest.raises(sealing.SealError, match=key):
        sealing.unseal(sealed, key, purpose="1:reader")
    settings.SEALING_PUBLIC_KEY = ""
    assert sealing.seal(TOKEN, purpose="1:reader")[1] != key
    settings.SEALING_PRIVATE_KEY = "short"
    with pytest.raises(sealing.SealError, match="32 bytes"):
        sealing.seal(TOKEN, purpose="1:reader")
    settings.SEALING_PRIVATE_KEY = ""
    with pytest.raises(sealing.SealError, match="no key"):
        sealing.seal(TOKEN, purpose="1:reader")


def test_a_web_process_cannot_open_what_it_stores():
    public, _private = sealing.new_key_pair()
    code = (
        "import django; django.setup()\n"
        "from queues import sealing\n"
        "sealed, key = sealing.seal('secret', purpose='1:reader')\n"
        "try:\n    sealing.unseal(sealed, key, purpose='1:reader')\n"
        "except sealing.SealError:\n    print('closed')\n"
    )
    env = os.environ | {"GPUPORTAL_SEALING_PUBLIC_KEY": public}
    env.pop("GPUPORTAL_SEALING_PRIVATE_KEY", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "closed", done.stderr


def test_registering_stores_sealed_tokens_and_leaves_writing_off(lab, keys):
    cluster = register(lab)
    assert not cluster.writing
    rows = Credential.objects.filter(link__cluster=cluster)
    assert {row.purpose for row in rows} == {"reader", "applier"}
    assert all(TOKEN.encode() not in bytes(row.sealed) for row in rows)
    event = AuditEvent.objects.get(action="cluster.register")
    assert TOKEN not in str(event.data)
    assert not links.is_ready(cluster)


def test_registering_again_replaces_address_and_tokens(lab, keys):
    cluster = register(lab)
    Link.objects.update(preflight={"ok": True})
    again = register(lab, server="https://127.0.0.1:2", display_name="Renamed")
    assert again.pk == cluster.pk
    assert (again.display_name, Link.objects.get(cluster=again).server[-1]) == ("Renamed", "2")
    assert not links.is_ready(again)


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"server": "http://127.0.0.1"}, "GP-4102", "server"),
        ({"ca_pem": "nonsense"}, "GP-4102", "ca_pem"),
        ({"reader_token": "two words"}, "GP-4105", "reader_token"),
        ({"applier_token": ""}, "GP-4105", "applier_token"),
    ],
)
def test_registering_refuses_what_cannot_work(lab, keys, changes, code, field):
    with pytest.raises(DomainError) as refusal:
        register(lab, **changes)
    assert (refusal.value.code, refusal.value.field) == (code, field)
    assert not Cluster.objects.filter(slug="new").exists()


@pytest.mark.parametrize(
    ("host", "networks"),
    [
        ("169.254.169.254", []),
        ("[::ffff:169.254.169.254]", []),
        ("127.0.0.1", []),
        ("2130706433", []),
        ("localhost", []),
        ("0xa9.254.43518", []),
        ("192.0.2.1", [ip_network("10.0.0.0/8")]),
    ],
)
def test_registering_refuses_where_no_connection_may_lead(lab, keys, settings, host, networks):
    settings.CLUSTER_NETWORKS = networks
    with pytest.raises(DomainError) as refusal:
        register(lab, server=f"https://{host}:6443")
    assert (refusal.value.code, refusal.value.field) == ("GP-4102", "server")
    assert host.strip("[]") in str(refusal.value.message)
    assert not Cluster.objects.filter(slug="new").exists()


def test_registering_needs_a_key_and_the_right(lab, settings):
    settings.SEALING_PUBLIC_KEY = settings.SEALING_PRIVATE_KEY = ""
    with pytest.raises(links.Unusable):
        register(lab)
    with pytest.raises(Denied):
        links.register_cluster(
            actor=lab.carol, slug="x", display_name="X", server="", ca_pem="", reader_token="",
            applier_token="",
        )  # fmt: skip


def test_writing_is_switched_on_only_after_a_clean_preflight(lab, keys):
    cluster = register(lab)
    with pytest.raises(DomainError) as refusal:
        links.set_writing(actor=lab.dave, cluster=cluster, on=True)
    assert refusal.value.code == "GP-4101"
    Link.objects.update(preflight={"ok": True})
    assert links.set_writing(actor=lab.dave, cluster=cluster, on=True).writing
    assert not links.set_writing(actor=lab.dave, cluster=cluster, on=False).writing
    with pytest.raises(Denied):
        links.set_writing(actor=lab.carol, cluster=cluster, on=False)


def test_a_client_is_never_used_inside_a_transaction(lab, keys):
    cluster = register(lab)
    with (
        links.client(cluster=cluster, purpose="reader") as client,
        transaction.atomic(),
        pytest.raises(links.NetworkInTransaction),
    ):
        client.version()


def test_a_client_needs_a_link_and_a_credential_that_opens(lab, keys, settings):
    with pytest.raises(errors.Credential):
        links.client(cluster=lab.cluster, purpose="reader")
    cluster = register(lab)
    settings.SEALING_PRIVATE_KEY = sealing.new_key_pair()[1]
    with pytest.raises(errors.Credential):
        links.client(cluster=cluster, purpose="reader")
    assert "sealed to key" in Credential.objects.get(purpose="reader", link=cluster.pk).problem
    Credential.objects.all().delete()
    with pytest.raises(errors.Credential, match="no reader credential"):
        links.client(cluster=cluster, purpose="reader")


def test_a_refused_token_is_replaced_by_a_renewed_one(lab, keys):
    cluster = register(lab)
    link = Link.objects.get(cluster=cluster)
    tokens = links.SealedToken(link, "reader")
    assert (tokens.token(), tokens.refresh()) == (TOKEN, None)
    assert "does not accept" in link.credentials.get(purpose="reader").problem
    links._store_token(link, "reader", "new.token.here", expires_at=None)
    assert (tokens.refresh(), tokens.token()) == ("new.token.here", "new.token.here")
