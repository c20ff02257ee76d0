"""A pasted kubeconfig: what is taken from it, and what is refused by name."""

import base64
import copy
import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import given
from hypothesis import strategies as st

from kube.credentials import MAX_TEXT, KubeconfigRefused, read_kubeconfig
from kube.errors import ClusterError
from tests.real.proxy_tls import certificate

CA, KEY = certificate(("127.0.0.1",))


def b64(text):
    return base64.b64encode(text.encode()).decode()


LOCKED = (
    load_pem_private_key(KEY.encode(), None)
    .private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"x"),
    )
    .decode()
)
TOKEN = "abc.def-ghi_jkl"
GOOD = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "one",
    "clusters": [
        {
            "name": "c",
            "cluster": {
                "server": "https://10.0.0.1:6443",
                "certificate-authority-data": b64(CA),
            },
        }
    ],
    "users": [{"name": "u", "user": {"token": TOKEN}}],
    "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
}


def config(*, cluster=None, user=None, only_user=None, **top):
    found = copy.deepcopy(GOOD)
    found["clusters"][0]["cluster"] |= cluster or {}
    entry = found["users"][0]
    entry["user"] = only_user if only_user is not None else entry["user"] | (user or {})
    return found | top


def reason(text, **more):
    with pytest.raises(KubeconfigRefused) as caught:
        read_kubeconfig(text if isinstance(text, str | bytes) else json.dumps(text), **more)
    assert TOKEN not in caught.value.message
    return caught.value.reason


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_a_plain_kubeconfig(write):
    found = read_kubeconfig(write(GOOD))
    assert found.server == "https://10.0.0.1:6443"
    assert found.token == TOKEN
    assert found.ca_pem == CA
    assert TOKEN not in repr(found)


def test_a_client_certificate():
    user = {"client-certificate-data": b64(CA), "client-key-data": b64(KEY)}
    found = read_kubeconfig(json.dumps(config(only_user=user)))
    assert found.token is None
    assert found.client_key_pem == KEY


CERTIFICATE = {"client-certificate-data": b64(CA), "client-key-data": b64(KEY)}


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (config(user={"exec": {"command": "touch", "args": ["/tmp/x"]}}), "exec"),  # noqa: S108
        (config(user={"auth-provider": {"name": "gcp"}}), "auth-provider"),
        (config(user={"tokenFile": "/etc/shadow"}), "file"),
        (config(user={"client-certificate": "/x"}), "file"),
        (config(user={"client-key": "/x"}), "file"),
        (config(cluster={"certificate-authority": "/x"}), "file"),
        (config(cluster={"insecure-skip-tls-verify": True}), "insecure"),
        (config(cluster={"proxy-url": "http://proxy"}), "proxy"),
        (config(cluster={"tls-server-name": "x"}), "server-name"),
        (config(user={"username": "u", "password": "p"}), "password"),
        (config(user={"as": "root"}), "impersonation"),
        (config(user={"as-groups": ["system:masters"]}), "impersonation"),
        (config(user={"new-thing": "x"}), "unknown"),
        (config(cluster={"new-thing": "x"}), "unknown"),
        (config(only_user={}), "credential"),
        (config(user=CERTIFICATE), "credential"),
        (config(only_user={"token": ""}), "token"),
        (config(only_user={"token": "a b"}), "token"),
        (config(only_user={"token": "a\r\nX-Evil: 1"}), "token"),
        (config(only_user={"token": "ä"}), "token"),
        (config(only_user={"token": "a" * 20_000}), "token"),
        (config(only_user={"token": 12}), "shape"),
        (config(only_user=CERTIFICATE | {"client-key-data": b64(LOCKED)}), "passphrase"),
        (config(only_user={"client-certificate-data": b64(CA)}), "certificate"),
        (config(only_user=CERTIFICATE | {"client-certificate-data": b64("x")}), "certificate"),
        (config(only_user=CERTIFICATE | {"client-key-data": "%%%"}), "base64"),
        (
            config(only_user=CERTIFICATE | {"client-key-data": b64(certificate(("a",))[1])}),
            "certificate",
        ),
        (config(cluster={"certificate-authority-data": b64("no certificate")}), "certificate"),
        (config(cluster={"server": "http://10.0.0.1"}), "server"),
        (config(cluster={"server": "https://user:pw@host"}), "server"),
        (config(cluster={"server": "https://host:99999"}), "server"),
        (config(cluster={"server": "https://host/?x=1"}), "server"),
        (config(cluster={"server": "https://host\n"}), "server"),
        (config(cluster={"server": "https://"}), "server"),
        (config(contexts=[]), "contexts"),
        (config(contexts=GOOD["contexts"] * 3), "contexts"),
        (config(contexts="x"), "shape"),
        (config(users=GOOD["users"] * 2), "shape"),
        (config(clusters=[]), "shape"),
        (config(kind="Secret"), "kind"),
        ([], "kind"),
        ("", "kind"),
        ("\t\x00", "yaml"),
        ("[" * 3000, "yaml"),
        ("a: &x 1\nb: *x\n", "yaml"),
        ("a: !!python/object/apply:os.system ['true']\n", "yaml"),
        ("kind: Config\nkind: Config\n", "twice"),
        ('{"kind": "Config", "kind": "Config"}', "twice"),
        (b"\xff\xfe", "yaml"),
        ("x" * (MAX_TEXT + 1), "size"),
    ],
)
def test_refused_by_name(broken, expected):
    assert reason(broken) == expected


def test_a_kubeconfig_without_a_ca():
    broken = config()
    del broken["clusters"][0]["cluster"]["certificate-authority-data"]
    assert reason(broken) == "ca"


def test_an_expired_certificate():
    later = datetime.now(UTC) + timedelta(days=400)
    assert reason(config(only_user=CERTIFICATE), now=later) == "expired"


def test_one_of_several_contexts_is_chosen_by_name():
    several = config(
        contexts=[
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "c", "user": "nobody"}},
        ]
    )
    assert read_kubeconfig(json.dumps(several), context="one").token == TOKEN
    assert reason(several, context="two") == "shape"
    assert reason(several, context="three") == "shape"


@given(st.text(max_size=300) | st.binary(max_size=300))
def test_any_text_is_refused_in_order(text):
    with pytest.raises(ClusterError):
        read_kubeconfig(text)
