"""A Prometheus that scrapes exporters every second: stale series, honour of labels, intervals."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from costs.metrics import used
from costs.models import MetricsSource
from costs.prometheus import Place, Prometheus
from costs.promql import ACTIVE
from costs.services.harvest import _gauges, ask
from costs.services.metrics import _look
from costs.times import HOUR, Span, hour_of
from tests.metrics.server import prometheus
from tests.real.conftest import eventually

pytestmark = [pytest.mark.xdist_group("prometheus"), pytest.mark.django_db]
SCRAPE = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: dcgm
    static_configs:
      - targets: ["127.0.0.1:{port}"]
        labels: {{namespace: monitoring, pod: dcgm-x7}}
"""


class Exporter:
    """Serves a text that the test may change."""

    def __init__(self):
        self.text = ""
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = exporter.text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Write nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def say(self, *lines):
        self.text = "".join(f"{line}\n" for line in lines)


def gpu(uuid, value, **labels):
    named = ",".join(
        f'{key}="{each}"' for key, each in {"UUID": uuid, "hostname": "n1", **labels}.items()
    )
    return f"{ACTIVE}{{{named}}} {value}"


def gauge(role, value):
    labels = (
        f'cluster_queue="nlp-train",flavor="a100",resource="nvidia.com/gpu",replica_role="{role}"'
    )
    return f"kueue_cluster_queue_resource_reservation{{{labels}}} {value}"


def test_scraped_as_it_is_in_a_cluster(tmp_path):
    """A pod that goes leaves no use behind; the interval, the job and the labels are found out."""
    exporter = Exporter()
    pod = gpu("GPU-1", 0.5, pod="train", namespace="nlp")
    exporter.say(pod, gpu("GPU-2", 0), gauge("leader", 5), gauge("follower", 7))
    with prometheus(tmp_path, scrape=SCRAPE.format(port=exporter.port)) as server:
        place = Place(server=server.server, ca_pem=server.ca_pem, allowed=lambda _: True)
        with Prometheus(place) as client:

            def samples(uuid):
                question = f'count_over_time({ACTIVE}{{UUID="{uuid}"}}[1h])'
                return sum(int(each.value) for each in client.ask(question, int(time.time()) + 1))

            eventually(lambda: samples("GPU-1") >= 4, 60)
            exporter.say(gpu("GPU-2", 0), gauge("leader", 5), gauge("follower", 7))
            before = samples("GPU-2")
            eventually(lambda: samples("GPU-2") >= before + 4, 60)
            source = MetricsSource(server="")
            found = _look(source, client)
            assert (found["job"], found["intervals"], found["fallback"]) == ("dcgm", [1], False)
            source.found = found
            now = hour_of(int(time.time()))
            hour = Span(now, now + HOUR)
            uses = used(ask(client, source, hour))
            held = list(_gauges(client, source, hour))
            counted = samples("GPU-1")
    (train,) = (use for who, use in uses.items() if who.pod)
    (idle,) = (use for who, use in uses.items() if not who.pod)
    assert {who.namespace for who in uses} == {"nlp", ""}
    assert (train.seen, train.used * 2) == (counted, counted)
    assert idle.used == 0
    assert idle.seen > train.seen
    ((line, reserved, seen),) = held
    assert line == ("nlp-train", "a100", "nvidia.com/gpu")
    assert reserved == 5 * seen
