from pathlib import Path

from cluster import KueueOptions, certs, kueue, ports

PORTS = dict(zip(ports.NAMES, range(20000, 20010), strict=True))


def test_kueue_listens_on_loopback_alone():
    config = kueue.config(PORTS, Path("/certs"), KueueOptions())
    assert config["webhook"] == {
        "host": "127.0.0.1",
        "port": PORTS["kueue-webhook"],
        "certDir": "/certs",
    }
    assert config["metrics"]["bindAddress"].startswith("127.0.0.1:")
    assert config["health"]["healthProbeBindAddress"].startswith("127.0.0.1:")
    assert config["visibilityServer"]["bindAddress"] == "127.0.0.1"
    assert "fairSharing" not in config
    assert "waitForPodsReady" not in config


def test_what_can_be_switched_on():
    options = KueueOptions(fair_sharing=True, wait_for_pods_ready="5m")
    config = kueue.config(PORTS, Path("/certs"), options)
    assert config["fairSharing"] == {}
    assert config["waitForPodsReady"] == {"timeout": "5m"}


def hook_configuration(kind):
    service = {"name": "kueue-webhook-service", "namespace": "kueue-system", "path": "/x"}
    hooks = [{"name": "a", "clientConfig": {"service": service}}]
    return {"kind": kind, "metadata": {"name": "kueue"}, "webhooks": hooks}


def test_references_to_services_lead_to_the_ports():
    before = hook_configuration("MutatingWebhookConfiguration")
    after = kueue.adapt(before, PORTS)
    assert after["webhooks"][0]["clientConfig"]["service"]["port"] == PORTS["kueue-webhook"]
    assert "port" not in before["webhooks"][0]["clientConfig"]["service"]
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "s"}}}}
    crd = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "c"},
        "spec": {"conversion": conversion},
    }
    service = kueue.adapt(crd, PORTS)["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert service["port"] == PORTS["kueue-webhook"]
    api = {"kind": "APIService", "metadata": {"name": "v"}, "spec": {"service": {"name": "v"}}}
    assert kueue.adapt(api, PORTS)["spec"]["service"]["port"] == PORTS["kueue-visibility"]


def test_only_the_two_dialled_services_become_names():
    web = {
        "kind": "Service",
        "metadata": {"name": "kueue-webhook-service"},
        "spec": {"selector": {}},
    }
    assert kueue.adapt(web, PORTS)["spec"] == {"type": "ExternalName", "externalName": "localhost"}
    other = {"kind": "Service", "metadata": {"name": "metrics"}, "spec": {"selector": {}}}
    assert kueue.adapt(other, PORTS) == other
    plain = {"kind": "CustomResourceDefinition", "metadata": {"name": "p"}, "spec": {}}
    assert kueue.adapt(plain, PORTS) == plain


def test_the_secret_of_the_chart_gives_way_to_the_filled_one(tmp_path):
    pki = certs.ensure(tmp_path / "pki")
    rendered = [
        {"kind": "Secret", "metadata": {"name": "kueue-webhook-server-cert"}},
        {"kind": "ClusterRole", "metadata": {"name": "r"}},
        {"kind": "CustomResourceDefinition", "metadata": {"name": "c"}, "spec": {}},
    ]
    found = kueue.objects(rendered, PORTS, kueue.webhook_certificates(pki))
    assert [m["kind"] for m in found] == ["CustomResourceDefinition", "ClusterRole", "Secret"]
    assert set(found[-1]["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
