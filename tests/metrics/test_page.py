"""The page that says where use is asked for: errors at their fields, secrets nowhere."""

from datetime import timedelta

import pytest
from django.utils import timezone

from costs.models import Harvest, MetricsSource
from costs.services import metrics
from costs.times import hour_of, instant, moment
from costs.used import Use
from costs.views.words import use_text
from portal.web.wording import DASH
from queues import sealing
from tenants.models import AuditEvent
from tests.costs import stored
from tests.costs.stored import said
from tests.query_counts import counted
from tests.real.registered import seal_with_fresh_keys

pytestmark = pytest.mark.django_db
URL = "/clusters/lab/metrics/"
SERVER = "https://prometheus.example.com"
TOKEN = "a-token-that-nobody-may-read"


@pytest.fixture(autouse=True)
def no_broker(monkeypatch):
    """Keep wake-ups from a broker that other tests use."""
    monkeypatch.setattr("costs.tasks.harvest.wake", lambda *args: True)


@pytest.fixture
def admin(lab, client, settings):
    seal_with_fresh_keys(settings)
    settings.CLUSTER_NETWORKS = ()
    client.force_login(lab.dave)
    return client


def post(client, **more):
    return client.post(URL, {"server": SERVER} | more)


def errors(answer):
    return {name: list(each) for name, each in answer.context["form"].errors.items()}


def test_a_source_is_stored_sealed_and_told_in_the_trail(lab, admin):
    answer = post(admin, token=TOKEN, job="dcgm", interval="30")
    assert (answer.status_code, answer["Location"]) == (302, URL)
    row = MetricsSource.objects.get()
    assert (row.server, row.job, row.interval, row.is_checked) == (SERVER, "dcgm", 30, False)
    assert TOKEN.encode() not in bytes(row.sealed)
    purpose = f"{lab.cluster.pk}:metrics:{SERVER}"
    assert sealing.unseal(bytes(row.sealed), row.key_id, purpose=purpose) == TOKEN
    event = AuditEvent.objects.get(action="cluster.metrics")
    assert (event.data["server"], event.data["sealed_to"]) == (SERVER, row.key_id)
    assert TOKEN not in str(event.data)
    page = admin.get(URL)
    assert TOKEN not in page.content.decode()
    assert "A worker is testing the connection" in said(page)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("server", {"server": "prometheus.example.com"}),
        ("server", {"server": "ftp://prometheus.example.com"}),
        ("server", {"server": "https://user:pass@prometheus.example.com"}),
        ("server", {"server": "https://prometheus.example.com/?a=b"}),
        ("server", {"server": "http://169.254.169.254"}),
        ("server", {"server": "http://127.0.0.1:9090"}),
        ("server", {"server": "http://2130706433"}),
        ("server", {"server": "http://localhost:9090"}),
        ("server", {"server": "http://[::1]:9090"}),
        ("server", {"server": ""}),
        ("token", {"token": "with space"}),
        ("token", {"server": "http://prometheus.example.com", "token": TOKEN}),
        ("ca_pem", {"ca_pem": "not a certificate"}),
        ("ca_pem", {"server": "http://prometheus.example.com", "ca_pem": "x"}),
        ("interval", {"interval": "0"}),
        ("interval", {"interval": "301"}),
        ("interval", {"interval": "often"}),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(admin, field, given):
    answer = post(admin, **given)
    assert answer.status_code == 422
    assert list(errors(answer)) == [field]
    assert TOKEN not in answer.content.decode()
    assert not MetricsSource.objects.exists()


def test_a_token_stays_for_its_server_alone(lab, admin):
    post(admin, token=TOKEN)
    before = bytes(MetricsSource.objects.get().sealed)
    assert post(admin, job="dcgm").status_code == 302
    assert bytes(MetricsSource.objects.get().sealed) == before
    other = post(admin, server="https://elsewhere.example.com")
    assert list(errors(other)) == ["token"]
    assert MetricsSource.objects.get().server == SERVER
    # A row that was changed by hand does not give it away either.
    MetricsSource.objects.update(server="https://elsewhere.example.com")
    with pytest.raises(Exception, match="sealed for something else"):
        sealing.unseal(before, MetricsSource.objects.get().key_id,
                       purpose=f"{lab.cluster.pk}:metrics:https://elsewhere.example.com")  # fmt: skip


def test_a_token_can_be_forgotten(admin):
    post(admin, token=TOKEN)
    post(admin, forget="on")
    assert MetricsSource.objects.get().sealed is None


def test_what_a_test_found_wrong_stands_at_its_field(lab, admin):
    post(admin)
    MetricsSource.objects.update(
        checked_at=timezone.now() + timedelta(seconds=1), code="GP-5603",
        problem="Prometheus does not accept the token.", problem_field="token",
    )  # fmt: skip
    page = admin.get(URL)
    assert page.status_code == 200
    assert errors(page) == {"token": ["Prometheus does not accept the token."]}
    assert "GP-5603" in said(page)
    assert "they are not 0" in said(page)


def test_a_page_that_waits_is_loaded_anew_when_the_result_is_there(admin):
    post(admin)
    headers = {"HX-Request": "true"}
    assert "HX-Refresh" not in admin.get(URL, headers=headers)
    MetricsSource.objects.update(checked_at=timezone.now() + timedelta(seconds=1))
    assert admin.get(URL, headers=headers)["HX-Refresh"] == "true"


def test_forgetting_the_source_keeps_what_was_asked(lab, admin):
    post(admin, token=TOKEN)
    hour = moment(hour_of(instant(timezone.now())) - 7200)
    Harvest.objects.create(cluster=lab.cluster, hour=hour, at=timezone.now())
    assert admin.post(URL + "remove/").status_code == 302
    assert (MetricsSource.objects.count(), Harvest.objects.count()) == (0, 1)
    assert AuditEvent.objects.filter(action="cluster.metrics").count() == 2
    assert admin.post(URL + "remove/").status_code == 422


def test_who_may_only_look_has_no_form(lab, admin):
    post(admin, token=TOKEN)
    admin.force_login(lab.erin)
    page = admin.get(URL)
    assert b'<form method="post" class="card"' not in page.content
    assert post(admin, job="x").status_code == 403
    assert MetricsSource.objects.get().job == ""


def test_a_test_of_an_older_source_says_nothing_of_the_new_one(lab, admin, monkeypatch):
    post(admin)
    old = MetricsSource.objects.get()
    post(admin, server="https://other.example.com")

    def fails(source):
        raise metrics.NoUse("nothing there", field="server")

    monkeypatch.setattr(metrics, "opened", fails)
    assert metrics.check(old) is False
    assert (MetricsSource.objects.get().code, MetricsSource.objects.get().is_checked) == ("", False)


def test_the_hours_of_a_week_are_there_each_with_its_state(lab, admin):
    post(admin)
    last = hour_of(instant(timezone.now()) - 180) - 3600
    for n, code in enumerate(["", "", "GP-5604", "GP-5616"]):
        Harvest.objects.create(
            cluster=lab.cluster, hour=moment(last - n * 3600), at=timezone.now(), code=code,
            problem="trouble" if code else "",
        )  # fmt: skip
    with counted("costs: metrics of a cluster"):
        page = admin.get(URL)
    assert page.context["numbers"]["known"] == 2
    assert page.context["numbers"]["failed"] == 2
    assert 144 < len(page.context["grid"].cells) <= 168
    assert [each.code for each in page.context["failures"]] == ["GP-5604", "GP-5616"]


def test_use_that_rests_on_a_worse_metric_has_a_mark():
    known = Use(1800 * 1000, 3600, 3600)
    assert use_text(known) == ("0.5", "100 % seen")
    assert use_text(known._replace(fallback=900)) == (
        "0.5*", "100 % seen, 25 % of it by utilisation alone",
    )  # fmt: skip
    assert use_text(Use(0, 2000, 3600, 2000))[0] == DASH


def test_the_mark_is_explained_where_it_stands(lab, client):
    found = Use(1800 * 1000, 3600, 3600, 3600)
    stored.store(
        lab.cluster, stored.fact(stored.at(1), "nlp", committed=1, own=1, running=1, use=found)
    )
    client.force_login(lab.dave)
    for url in ("/t/nlp/costs/?month=2026-11", "/clusters/lab/costs/?month=2026-11"):
        page = said(client.get(url))
        assert "0.5*" in page
        assert "* By utilisation alone" in page
