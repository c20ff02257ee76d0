"""What the demo's GPUs did is in a real Prometheus, and the portal's own harvest reads it there."""

import threading
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from costs.models import GaugeHour, GeneratedTime, Harvest, MetricsSource, TenantHour, UsedHour
from costs.promql import ACTIVE
from costs.services import hourly, metrics
from costs.times import HOUR, Span, instant, moment
from portal.demo import exporter, past, past_rows, past_use, prometheus, readings
from portal.demo.exporter import Devices, Exporter, Pod
from portal.demo.past_places import A_NODE, NODES
from queues.models import Stream
from tests import cast
from tests.metrics.demo import serving, until
from tests.real.registered import seal_with_fresh_keys

pytestmark = [pytest.mark.xdist_group("prometheus"), pytest.mark.django_db(transaction=True)]
NOW = datetime(2026, 11, 4, 9, 41, tzinfo=UTC)
STORY = past.times(NOW)
JOBS = past.played(STORY)
READINGS = readings.Past(STORY, JOBS)
#: From the device that is busy without a pod to the first day on which nobody computes.
FIRST, LAST = STORY.stray[0][0], STORY.idle[0] + timedelta(hours=6)


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A server's folder with two weeks of the story."""
    found = prometheus.Store(tmp_path_factory.mktemp("demo"))
    server, promtool = prometheus.programs(lambda _: None)
    said = []
    prometheus.fill(found, READINGS, (instant(FIRST), instant(LAST)), promtool, said.append)
    assert not (found.folder / "making").exists()
    found.note(program=str(server))
    return found


@pytest.fixture
def lab(transactional_db, settings):
    seal_with_fresh_keys(settings)
    found = cast.make()
    for kind in ("Workload", "ClusterQueue", "Cohort", "Node", "Pod"):
        Stream.objects.create(
            cluster=found.cluster, kind=kind, alive_at=datetime.now(UTC),
            history_since=NOW if kind == "Pod" else None,
        )  # fmt: skip
    past_rows.write(cluster=found.cluster, story=STORY, found=JOBS, observed=NOW)
    return found


def told(hour):
    """Add up the lines of an hour as they were written: samples and thousandths by pod and node."""
    found = defaultdict(lambda: [0, Fraction(0)])
    for line in READINGS.text(*hour):
        if not line.startswith(ACTIVE):
            continue
        named, value, _at = line.rsplit(" ", 2)
        pod = named.partition('pod="')[2].partition('"')[0]
        node = named.partition('instance="')[2].partition('"')[0]
        each = found[pod, node]
        each[0] += 1
        each[1] += Fraction(value)
    return found


def hour_at(at):
    return Span(instant(at), instant(at) + HOUR)


def measured(lab, server, *hours):
    """Harvest some hours and count the parts that they are in."""
    row = GeneratedTime.objects.get()
    assert past_use.connect(row, folder=None, server=server, actor=lab.dave, say=print)
    for hour in hours:
        assert past_use.measure(lab.cluster, hour)
        starts = hour.starts - hour.starts % (6 * HOUR)
        hourly.count(cluster=lab.cluster, span=Span(starts, starts + 6 * HOUR))


def of(lab, tenant, hour):
    return TenantHour.objects.get(cluster=lab.cluster, tenant=tenant, hour=moment(hour.starts))


def test_rows_are_what_prometheus_says_and_prometheus_says_what_was_written(
    lab, store, monkeypatch
):
    monkeypatch.setattr(past_use, "_made", lambda *_: None)
    monkeypatch.setattr(past_use, "Store", lambda _: store)
    busy = hour_at(STORY.idle[0] - timedelta(hours=8))
    idle = hour_at(STORY.idle[0] + timedelta(hours=2))
    hole = hour_at(STORY.blind[0][1] + timedelta(hours=2))
    stray = hour_at(FIRST + timedelta(hours=2))
    with serving(store) as server:
        measured(lab, server, busy, idle, hole, stray)
        assert not past_use.measure(lab.cluster, busy)
        source = MetricsSource.objects.get()
        assert (source.server, source.interval) == (server, None)
    row = GeneratedTime.objects.get()
    assert (row.lasting, row.unmeasured) == (True, "")
    assert Harvest.objects.filter(code="").count() == 4

    for hour in (busy, idle, hole, stray):
        rows = UsedHour.objects.filter(hour=moment(hour.starts)).exclude(pod="")
        said = {key: each for key, each in told(hour).items() if key[0]}
        assert {(each.pod, each.node) for each in rows} == set(said)
        for each in rows:
            samples, used = said[each.pod, each.node]
            assert each.seen == samples * readings.EVERY
            assert each.used == used * readings.EVERY * 1000

    # One team computes on what it has, the other does so too until it computes nothing.
    nlp, cv, asleep = of(lab, lab.nlp, busy), of(lab, lab.cv, busy), of(lab, lab.cv, idle)
    assert Fraction(7, 10) < Fraction(nlp.used, nlp.seen * 1000) < Fraction(9, 10)
    assert Fraction(35, 100) < Fraction(cv.used, cv.seen * 1000) < Fraction(55, 100)
    assert asleep.running > 0
    assert asleep.used * 100 < asleep.seen * 1000
    assert asleep.seen > asleep.expected * 95 // 100
    # The exporter of a node did not answer: its pods are expected and not seen, and not idle.
    node = STORY.blind[0][0]
    assert not UsedHour.objects.filter(hour=moment(hole.starts), node=node).exists()
    both = [of(lab, each, hole) for each in (lab.nlp, lab.cv)]
    assert sum(each.seen for each in both) < sum(each.expected for each in both) * 95 // 100
    # A device is busy, and no pod says that it was it.
    nobody = UsedHour.objects.get(hour=moment(stray.starts), pod="", node="gpu-4")
    assert nobody.used > HOUR * 1000 * 9 // 10


def test_the_source_is_good_while_the_demo_runs(lab, store, monkeypatch):
    """Prometheus reads the demo's exporter, which names the pods of the cluster."""

    class Api:
        def get(self, _path):
            return {"items": [pod_of("train-bert-7-abc", "gpu-2", 4)]}

    found = exporter.server(Exporter(Api()), 0)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    settings = prometheus.config(found.server_port).replace("60s", "1s").replace("10s", "1s")
    monkeypatch.setattr(past_use, "_made", lambda *_: None)
    try:
        live = prometheus.Store(store.folder.parent / "live")
        live.data.mkdir(parents=True)
        server = store.read()["program"]
        command = prometheus.command(live, server, 0, found.server_port)
        assert str(live.data) in " ".join(command)
        starter = live.folder / "start.sh"
        starter.write_text(
            f"#!/bin/sh\ncat > {live.folder}/prometheus.yml <<'END'\n{settings}END\n"
            f'exec {server} "$@"\n'
        )
        starter.chmod(0o755)
        live.note(program=str(starter))
        with serving(live, found.server_port) as address:
            metrics.set_source(
                actor=lab.dave, cluster=lab.cluster, server=address, job=readings.JOB
            )
            source = MetricsSource.objects.get()
            until(lambda: metrics.check(source))
            with metrics.opened(source) as client:
                at = int(datetime.now(UTC).timestamp()) + 1
                until(lambda: len(client.ask("up == 1", at)) == len(NODES))
                pods = client.ask(f'count by (pod,instance) ({ACTIVE}{{pod!=""}})', at)
            # A first look may have come before all four were scraped.
            until(lambda: metrics.check(source) and whole(source))
    finally:
        found.shutdown()
        found.server_close()
    source.refresh_from_db()
    assert (source.code, source.found["intervals"]) == ("", [1])
    assert source.found["metrics"] == {ACTIVE: len(NODES) * A_NODE}
    assert [(each.labels["pod"], each.labels["instance"], each.value) for each in pods] == [
        ("train-bert-7-abc", "gpu-2", 4)
    ]
    assert not GaugeHour.objects.exists()


def whole(source):
    """Return whether the last look at a source found the devices of all nodes."""
    source.refresh_from_db()
    return source.found["metrics"] == {ACTIVE: len(NODES) * A_NODE}


def pod_of(name, node, gpus, **meta):
    asked = {"resources": {"requests": {"nvidia.com/gpu": str(gpus)}}} if gpus else {}
    return {
        "metadata": {"namespace": "nlp", "name": name, **meta},
        "spec": {"nodeName": node, "containers": [{"name": "main", **asked}]},
    }


def test_what_waits_for_a_history_ends_where_there_is_none(tmp_path):
    store = prometheus.Store(tmp_path / "none")
    with serving(store) as server:
        store.note(failed="no network")
        until(lambda: not prometheus.is_ready(server))
    assert store.read() == {"failed": "no network"}
    prometheus.main(str(store.folder), "1", "2")
    store.forget()
    assert store.read() == {}


def test_a_history_that_cannot_be_made_is_none(tmp_path):
    store = prometheus.Store(tmp_path)
    script = tmp_path / "promtool"
    script.write_text("#!/bin/sh\necho out of disk >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(prometheus.NoHistoryError, match="out of disk"):
        prometheus.fill(store, READINGS, (0, 3600), script, print)
    assert not store.data.exists()


def test_pods_have_their_devices_until_they_are_gone():
    found = Devices()
    one, two, other = (
        Pod("nlp", "a", "gpu-1", 4),
        Pod("nlp", "b", "gpu-1", 2),
        Pod("cv", "c", "gpu-2", 8),
    )
    found.place([two, other], 0)
    found.place([one, two, other], 10)
    before = dict(found.of)
    assert sum(pod == one for pod in before.values()) == 4
    found.place([one, two], 20)
    assert set(found.of.values()) == {one, two}
    assert all(before[key] == pod for key, pod in found.of.items())
    text = found.text("gpu-1", 1000)
    assert text.count('pod="a"') == 4
    assert text.count(ACTIVE + "{") == A_NODE
    assert 'pod="c"' not in found.text("gpu-2", 1000)


def test_only_pods_that_run_on_devices_are_named():
    going = {"deletionTimestamp": "2026-11-01T00:00:00Z"}
    items = [pod_of("a", "gpu-1", 2), pod_of("b", "gpu-1", 0), pod_of("c", "gpu-1", 2, **going)]
    assert exporter.running(items) == [Pod("nlp", "a", "gpu-1", 2)]


def test_a_cluster_that_does_not_answer_is_an_exporter_that_does_not(client):
    class Dead:
        closed = 0

        def get(self, _path):
            raise OSError

        def close(self):
            self.closed += 1

    api = Dead()
    found = exporter.server(Exporter(api), 0)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    try:
        assert [status(found, path) for path in ("/gpu-1/metrics", "/else")] == [503, 404]
    finally:
        found.shutdown()
        found.server_close()
    assert api.closed == 1


def status(found, path):
    from http.client import HTTPConnection

    wire = HTTPConnection("127.0.0.1", found.server_port, timeout=10)
    wire.request("GET", path)
    answer = wire.getresponse().status
    wire.close()
    return answer
