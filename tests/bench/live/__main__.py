"""How fast news reaches open pages, how much memory a stream takes, how fast all come back.

    python -m tests.bench.live [--rates 5,50,500] [--browsers 300] [--streams 2000] [--seconds 20]

Everything runs on this machine: PostgreSQL, Redis, the observer, the live process, and the streams
of all browsers in one process. The watch is played from recorded objects, see ``player.py``. An event
counts as heard when the one stream that listens to its workload has read the news of it. Ends
with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from portal.embedded import Postgres, Redis, places
from tests.bench.live.player import TOPIC, Player

ROOT = Path(__file__).resolve().parents[3]
SESSION = "session_key, session_data, expire_date, user_id"
QUEUES = 50
JOBS = 16  # workloads that one stream listens to
P95 = 0.250  # seconds from the watch's event to the stream
UNSEEN = 1.0  # seconds after which an event counts as unseen
MEMORY = 25.0  # kB of one stream
BACK = 2.0  # seconds until all streams are open again
CUT = 5.0  # seconds until the streams of people whose sessions are gone have ended


class Bench:
    """The processes of one measurement."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.running: list[subprocess.Popen[str]] = []

    def start(self, *command: str, **more: Any) -> subprocess.Popen[str]:
        log = (self.folder / f"{command[1].rsplit('.', 1)[-1]}.log").open("ab")
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=self.environment, stderr=log, text=True,
            **{"stdout": log, **more},
        )  # fmt: skip
        self.running.append(process)
        return process

    def run(self, *command: str, **more: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=self.environment | more, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout

    def close(self) -> None:
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def bench() -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="gpuportal-live-"))
    folder.chmod(0o711)
    postgres = Postgres.start(folder / "postgres", durable=False)
    redis = Redis.start(folder / "redis", durable=False)
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "portal.settings", "PYTHONPATH": str(ROOT),
        "GPUPORTAL_DATABASE_URL": postgres.app_url, "GPUPORTAL_REDIS_URL": redis.url,
        "GPUPORTAL_HTTPS": "0", "GPUPORTAL_ALLOWED_HOSTS": "127.0.0.1",
        "GPUPORTAL_SECRET_KEY": secrets.token_urlsafe(64), "GPUPORTAL_LOG_LEVEL": "WARNING",
    }  # fmt: skip
    made = Bench(folder, environment)
    try:
        made.run("manage.py", "migrate", "-v", "0", GPUPORTAL_DATABASE_OWNER_URL=postgres.owner_url)
        yield made
    except BaseException:
        for log in folder.glob("*.log"):
            sys.stderr.write(f"--- {log.name}\n{log.read_text()[-3000:]}\n")
        raise
    finally:
        made.close()
        redis.stop()
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Ears:
    """The process that holds all streams."""

    def __init__(self, bench: Bench, facts: dict[str, Any]) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.bench = bench
        self.process = bench.start("-m", "tests.bench.live.ears", **pipes)
        self._write(facts)

    def _write(self, value: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def ask(self, **asked: int) -> dict[str, Any]:
        self._write(asked)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def wait(url: str) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - our own address
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(url)


def resident(pid: int) -> float:
    """kB that a process holds in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def latencies(sent: list[tuple[str, float]], heard: list[Any]) -> list[float]:
    """Seconds from each event to the first news of its workload; infinite when none came."""
    arrived: dict[str, list[float]] = defaultdict(list)
    for _, _, at, told in heard:
        for uid in TOPIC.findall(told):
            arrived[uid].append(at)
    found = []
    for uid, began in sent:
        later = [at for at in arrived[uid] if at >= began]
        found.append(min(later) - began if later else float("inf"))
    return found


def share(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def spread(heard: list[Any]) -> float:
    """Median of the seconds between the first and the last stream that a window's news reached."""
    by_generation: dict[int, list[float]] = defaultdict(list)
    for _, generation, at, _ in heard:
        by_generation[generation].append(at)
    spans = [max(times) - min(times) for times in by_generation.values() if len(times) > 50]
    return statistics.median(spans) if spans else 0.0


def main(options: argparse.Namespace) -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    most = max(options.browsers, options.streams)
    missed = []
    player = Player(options.browsers * JOBS, QUEUES)
    with bench() as made:
        keys = json.loads(made.run("-m", "tests.bench.live.seed", str(QUEUES), str(most)))
        port = places.free_port()
        live = made.start("-m", "portal.live", "--host", "127.0.0.1", "--port", str(port))
        wait(f"http://127.0.0.1:{port}/readyz")
        facts = {"port": port, "keys": keys, "queues": QUEUES, "uids": player.uids}
        ears = Ears(made, facts)
        missed += memory_and_return(ears, live.pid, options.streams)
        observer = made.start("-m", "tests.bench.live.observe", str(player.port))
        player.watched.wait(120)
        wait_for_rows(player, made)
        ears.ask(open=options.browsers, jobs=JOBS)
        for rate in options.rates:
            player.play(rate, 3)
            time.sleep(2)
            ears.ask(heard=1)
            used = [cpu(live.pid), cpu(observer.pid)]
            sent = player.play(rate, options.seconds)
            time.sleep(3)
            heard = ears.ask(heard=1)["heard"]
            work = [cpu(live.pid) - used[0], cpu(observer.pid) - used[1]]
            found = latencies(sent, heard)
            late = sum(each > UNSEEN for each in found)
            p50, p95, worst = share(found, 0.5), share(found, 0.95), max(found)
            sys.stdout.write(
                f"{rate:4} events/s, {options.browsers} streams: p50 {p50 * 1000:.0f} ms, "
                f"p95 {p95 * 1000:.0f} ms, longest {worst * 1000:.0f} ms, unseen after 1 s: {late} "
                f"of {len(found)}; messages {len(heard)}, first to last stream "
                f"{spread(heard) * 1000:.0f} ms; CPU live {work[0]:.1f} s, observer {work[1]:.1f} s\n"
            )
            sys.stdout.flush()
            if p95 > P95 or late:
                missed.append(f"{rate} events/s")
    sys.stdout.write(f"missed: {', '.join(missed) or 'nothing'}\n")
    return int(bool(missed))


def wait_for_rows(player: Player, made: Bench) -> None:
    code = "import django; django.setup(); from queues.models import Workload as W; print(W.objects.count())"
    until = time.monotonic() + 180
    while int(made.run("-c", code)) < len(player.uids):
        if time.monotonic() > until:
            message = "the observer has not written its rows"
            raise TimeoutError(message)


def time_to_end(ears: Ears, streams: int) -> float:
    """Seconds from the end of all sessions, without a word to anybody, to that of their streams."""
    made = ears.bench
    before = ears.ask(lost=1)["lost"]
    with psycopg.connect(made.environment["GPUPORTAL_DATABASE_URL"]) as connection:
        # Only the names of columns, which are written here, go into the text.
        kept = connection.execute(f"SELECT {SESSION} FROM tenants_session")  # noqa: S608
        rows = kept.fetchall()
        connection.execute("DELETE FROM tenants_session")
    began = time.monotonic()
    while ears.ask(lost=1)["lost"] - before < streams and time.monotonic() - began < 60:
        time.sleep(0.05)
    took = time.monotonic() - began
    with psycopg.connect(made.environment["GPUPORTAL_DATABASE_URL"]) as connection:
        sql = f"INSERT INTO tenants_session ({SESSION}) VALUES (%s, %s, %s, %s)"  # noqa: S608
        connection.cursor().executemany(sql, rows)
    return took


def memory_and_return(ears: Ears, pid: int, streams: int) -> list[str]:
    """Open all streams of a fresh process: what they hold, and how long a return of all takes."""
    missed = []
    ears.ask(open=10, jobs=0)
    ears.ask(close=1)
    time.sleep(2)
    before = resident(pid)
    opened = ears.ask(open=streams, jobs=0)
    time.sleep(4)
    held = resident(pid)
    each = (held - before) / streams
    ears.ask(close=1)
    time.sleep(2)
    used = cpu(pid)
    back = ears.ask(open=streams, jobs=0)
    used = cpu(pid) - used
    gone = time_to_end(ears, streams)
    sys.stdout.write(
        f"{streams} streams: {each:.1f} kB each ({before / 1024:.0f} MB without, "
        f"{held / 1024:.0f} MB with them); opened in {opened['seconds']:.2f} s, again after a cut in "
        f"{back['seconds']:.2f} s ({back['good']} of {back['of']}), CPU of the process {used:.2f} s; all ended {gone:.1f} s after their sessions\n"
    )
    sys.stdout.flush()
    if each > MEMORY:
        missed.append("memory")
    if back["seconds"] > BACK or back["good"] < streams:
        missed.append("return")
    if gone > CUT:
        missed.append("end")
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rates", type=lambda text: [int(each) for each in text.split(",")], default=[5, 50, 500]
    )
    parser.add_argument("--browsers", type=int, default=300)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=20)
    sys.exit(main(parser.parse_args()))
