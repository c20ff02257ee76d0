"""An hour that was asked is stored as a whole, and one that could not be asked is not 0."""

import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from costs import prometheus
from costs.models import GaugeHour, Harvest, MetricsSource, TenantHour, UsedHour
from costs.selectors import harvests
from costs.services import harvest as harvesting
from costs.services import metrics
from costs.services.harvest import harvest, take_turn
from costs.services.hourly import Busy, ClosedHours, NotOver
from costs.times import HOUR, Span, instant, moment
from tests import cast
from tests.metrics.story import BEGIN, EVERY, JOB, STORY
from tests.real.faultproxy import (
    Action,
    FaultProxy,
    delay,
    drop,
    drop_answer,
    fail,
    garbage,
    truncate,
)
from tests.real.registered import seal_with_fresh_keys

pytestmark = [
    pytest.mark.xdist_group("prometheus"),
    pytest.mark.django_db(transaction=True),
]
QUERY = "/api/v1/query"
TOKEN = "a-token-that-nobody-may-read"


@pytest.fixture
def lab(transactional_db, settings):
    seal_with_fresh_keys(settings)
    return cast.make()


@pytest.fixture
def proxy(server):
    with FaultProxy(server.server, server.ca_pem) as found:
        yield found


def connect(lab, place, **more):
    facts = {"server": place.server, "ca_pem": place.ca_pem, "job": JOB, "interval": EVERY}
    return metrics.set_source(actor=lab.dave, cluster=lab.cluster, **facts | more)


def rows():
    own = ("id",)
    return [
        {k: v for k, v in row.items() if k not in own}
        for row in UsedHour.objects.order_by("namespace", "pod", "node", "profile").values()
    ]


def test_the_same_hour_asked_again_gives_the_same_rows(lab, server):
    connect(lab, server)
    first = harvest(cluster=lab.cluster, hour=STORY)
    before = rows()
    again = harvest(cluster=lab.cluster, hour=STORY)
    assert rows() == before
    assert len(before) == 18
    assert (first.pk, first.series, first.clamped) == (again.pk, again.series, 60)
    one = UsedHour.objects.get(pod="outage")
    assert (one.used, one.seen, one.expected, one.node) == (1_920_000, 2400, HOUR, "n2")
    shared = UsedHour.objects.filter(pod__startswith="share").values_list("used", "shared")
    assert set(shared) == {(856_800, 3)}
    assert 1_060_000 // 1000 < UsedHour.objects.get(pod="aligned").energy // 1000 < 1_080


def test_kueue_is_heard_once_however_many_of_it_there_are(lab, server):
    """Nobody says how often Kueue is scraped here, so its gauges are left out, not guessed."""
    source = connect(lab, server)
    with metrics.opened(source) as client:
        assert list(harvesting._gauges(client, source, STORY)) == []
        client.intervals = lambda: {("kueue", "k1"): EVERY}
        assert list(harvesting._gauges(client, source, STORY)) == [
            (("nlp-train", "a100", "nvidia.com/gpu"), 5 * HOUR, HOUR)
        ]
    harvest(cluster=lab.cluster, hour=STORY)
    assert not GaugeHour.objects.exists()


def strange_page():
    page = b"<html><title>Sign in</title></html>"
    return Action("page", False, lambda exchange: exchange.answer(200, page))


def moved():
    return Action("moved", False, lambda one: one.answer(302, b"", Location="https://127.0.0.1/"))


def partial():
    body = b'{"status":"success","warnings":["store is down"],"data":{"resultType":"vector","result":[]}}'
    return Action("partial", False, lambda exchange: exchange.answer(200, body))


def empty():
    body = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
    return Action("empty", False, lambda exchange: exchange.answer(200, body))


def odd(value):
    series = b'{"metric":{},"value":[1,%s]}' % value
    body = b'{"status":"success","data":{"resultType":"vector","result":[%s]}}' % series
    return Action("odd", False, lambda exchange: exchange.answer(200, body))


def too_many():
    body = b'{"status":"error","errorType":"execution","error":"query processing would load too many samples"}'
    return Action("too many", False, lambda exchange: exchange.answer(422, body))


def no_time():
    body = b'{"status":"error","errorType":"timeout","error":"query timed out"}'
    return Action("no time", False, lambda exchange: exchange.answer(503, body))


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (fail(503), "GP-5604"),
        (fail(429), "GP-5604"),
        (fail(401), "GP-5603"),
        (fail(403), "GP-5603"),
        (fail(404), "GP-5607"),
        (no_time(), "GP-5605"),
        (too_many(), "GP-5608"),
        (partial(), "GP-5609"),
        (garbage(), "GP-5607"),
        (garbage(b"[" * 100_000), "GP-5607"),
        (strange_page(), "GP-5607"),
        (moved(), "GP-5607"),
        (odd(b"0.5"), "GP-5607"),
        (odd(b'"1e99999999"'), "GP-5607"),
        (odd(b'"many"'), "GP-5607"),
        (drop(), "GP-5601"),
        (drop_answer(), "GP-5601"),
        (truncate(), "GP-5601"),
        (empty(), "GP-5616"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_what_goes_wrong_is_never_nothing_used(lab, proxy, action, code):
    connect(lab, proxy)
    proxy.rules.add(action=action, path=QUERY, times=None)
    with pytest.raises(prometheus.MetricsError) as refusal:
        harvest(cluster=lab.cluster, hour=STORY)
    assert refusal.value.code == code
    row = Harvest.objects.get()
    assert (row.code, row.attempts, UsedHour.objects.exists()) == (code, 1, False)
    proxy.rules.clear()
    harvest(cluster=lab.cluster, hour=STORY)
    assert (Harvest.objects.get().code, UsedHour.objects.count()) == ("", 18)


def test_a_late_answer_is_none(lab, proxy, monkeypatch):
    monkeypatch.setattr(prometheus, "TOTAL", 1)
    connect(lab, proxy)
    proxy.rules.add(action=delay(3), path=QUERY)
    with pytest.raises(prometheus.TooSlow):
        harvest(cluster=lab.cluster, hour=STORY)
    assert Harvest.objects.get().code == "GP-5605"


def test_a_large_answer_is_not_read_to_its_end(lab, server, monkeypatch):
    monkeypatch.setattr(prometheus, "LARGEST", 1000)
    connect(lab, server)
    with pytest.raises(prometheus.TooLarge):
        harvest(cluster=lab.cluster, hour=STORY)
    assert not UsedHour.objects.exists()


def test_an_answer_that_fails_half_way_changes_nothing(lab, proxy):
    """Whichever question it is that fails."""
    connect(lab, proxy)
    harvest(cluster=lab.cluster, hour=STORY)
    before, asked = rows(), len([each for each in proxy.log if each.path.startswith(QUERY)])
    assert asked > 8
    for nth in range(1, asked + 1):
        proxy.rules.clear()
        proxy.rules.add(action=fail(503), path=QUERY, nth=nth)
        with pytest.raises(prometheus.Busy):
            harvest(cluster=lab.cluster, hour=STORY)
    assert rows() == before
    # It is known from the first time; a failure does not take that away.
    assert Harvest.objects.get().code == ""


def test_a_server_that_is_down(lab):
    connect(lab, type("Nobody", (), {"server": "https://127.0.0.1:1", "ca_pem": ""}))
    with pytest.raises(prometheus.Unreachable):
        harvest(cluster=lab.cluster, hour=STORY)
    assert Harvest.objects.get().code == "GP-5601"


def test_another_certificate_is_not_trusted(lab, server, proxy):
    connect(lab, server, ca_pem=proxy.ca_pem)
    with pytest.raises(prometheus.NotTrusted):
        harvest(cluster=lab.cluster, hour=STORY)


def test_the_token_is_sent_and_stands_nowhere(lab, proxy, caplog):
    sent = []

    def look(exchange):
        sent.append(exchange.handler.headers.get("Authorization"))
        exchange.handler.pass_on(exchange)

    connect(lab, proxy, token=TOKEN)
    proxy.rules.add(action=Action("look", True, look), times=None)
    harvest(cluster=lab.cluster, hour=STORY)
    assert set(sent) == {f"Bearer {TOKEN}"}
    proxy.rules.clear()
    proxy.rules.add(action=fail(401), times=None)
    with pytest.raises(prometheus.TokenRefused) as refusal:
        harvest(cluster=lab.cluster, hour=STORY)
    source = MetricsSource.objects.get()
    shown = [caplog.text, repr(vars(refusal.value)), repr(vars(source)), str(refusal.value)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT data::text FROM tenants_auditevent")
        shown += [row[0] for row in cursor.fetchall()]
    assert not [each for each in shown if TOKEN in each]


def test_an_address_is_checked_when_it_is_connected_to(lab, server, settings):
    """A name can lead elsewhere a moment later, so the form alone would not do."""
    connect(lab, server)
    settings.CLUSTER_NETWORKS = ()
    with pytest.raises(prometheus.Unreachable, match=r"127\.0\.0\.1 is not allowed"):
        harvest(cluster=lab.cluster, hour=STORY)


def test_one_harvest_at_a_time(lab, server):
    connect(lab, server)
    inside, over = threading.Event(), threading.Event()

    def hold():
        with harvesting._alone(lab.cluster):
            inside.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(30)
    with pytest.raises(Busy):
        harvest(cluster=lab.cluster, hour=STORY)
    over.set()
    thread.join()
    assert harvest(cluster=lab.cluster, hour=STORY).code == ""


def test_an_hour_that_is_not_over_is_refused(lab, server):
    connect(lab, server)
    with pytest.raises(NotOver):
        harvest(cluster=lab.cluster, hour=STORY, now=moment(STORY.ends + 179))


def test_hours_of_a_closed_period_are_left_alone(lab, server, monkeypatch):
    connect(lab, server)
    monkeypatch.setattr(harvests, "closed_within", lambda span: [span])
    with pytest.raises(ClosedHours):
        harvest(cluster=lab.cluster, hour=STORY)


# --- what is due ----------------------------------------------------------------------------------


def due(now=None):
    return harvests.due(MetricsSource.objects.get(), now or timezone.now())


def note(lab, hour, **more):
    now = timezone.now()
    Harvest.objects.create(cluster=lab.cluster, hour=moment(hour.starts), at=now, **more)
    return now


def test_an_hour_that_fails_is_tried_again_later_and_later(lab, server):
    connect(lab, server)
    last = due()[-1]
    at = note(lab, last, code="GP-5604")
    assert last not in due(at + timedelta(minutes=4))
    assert last in due(at + timedelta(minutes=6))
    Harvest.objects.update(attempts=3)
    assert last not in due(at + timedelta(minutes=19))
    assert last in due(at + timedelta(minutes=21))


def test_an_hour_that_is_known_is_not_asked_again(lab, server):
    connect(lab, server)
    hours = due()
    note(lab, hours[0])
    assert due()[0] == hours[1]
    assert 166 <= len(hours) <= 168


def test_what_prometheus_has_forgotten_is_not_asked(lab, server):
    source = connect(lab, server)
    MetricsSource.objects.update(found={"retention": 5 * HOUR})
    first = due()[0]
    assert instant(timezone.now()) - first.starts <= 5 * HOUR
    assert source.cluster_id == lab.cluster.pk


def test_a_turn_tests_the_source_first_and_ends_where_nobody_answers(lab, proxy):
    """The history has no sample of today, so the test finds no job; then nothing is asked."""
    connect(lab, proxy)
    assert take_turn(lab.cluster.pk, seconds=3600) is False
    source = MetricsSource.objects.get()
    assert (source.code, source.problem_field, source.is_checked) == ("GP-5613", "job", True)
    assert not Harvest.objects.exists()
    MetricsSource.objects.update(code="", problem="")
    proxy.rules.add(action=fail(503), times=None)
    assert take_turn(lab.cluster.pk, seconds=3600) is False
    # One failed attempt says enough of a server that is down, and the page says it too.
    assert Harvest.objects.count() == 1
    assert MetricsSource.objects.get().code == "GP-5604"
    # While it is down, no hour is blamed.
    assert take_turn(lab.cluster.pk, seconds=3600) is False
    assert Harvest.objects.get().attempts == 1


def test_a_turn_goes_on_after_an_hour_without_samples(lab, server, monkeypatch):
    connect(lab, server)
    MetricsSource.objects.update(checked_at=timezone.now() + timedelta(seconds=9))
    spans = [Span(BEGIN - 9 * HOUR, BEGIN - 8 * HOUR), STORY]
    monkeypatch.setattr(harvests, "due", lambda source, now: spans)
    assert take_turn(lab.cluster.pk, seconds=3600) is False
    assert list(Harvest.objects.order_by("hour").values_list("code", flat=True)) == ["GP-5616", ""]


def test_by_hand_every_hour_has_its_line(lab, server):
    connect(lab, server)
    out = StringIO()
    with pytest.raises(CommandError, match="1 of 3 hours are not known"):
        call_command(
            "costs_harvest", lab.cluster.slug, "--from", "2026-11-02T08:00Z", "--to",
            "2026-11-02T11:00", stdout=out,
        )  # fmt: skip
    first, second, third = out.getvalue().splitlines()
    assert first.startswith("2026-11-02T08:00Z 2")
    assert "series" in second
    assert third.startswith("2026-11-02T10:00Z GP-5616")
    assert not TenantHour.objects.exists()
