"""Starts everything in order and keeps it running until Ctrl-C.

``manage.py demo [--reset] [--port N] [--data FOLDER] [--once] [--do COMMAND ...]``
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster import Cluster, two_teams_nodes
from cluster.instance import down
from cluster.paths import built
from portal.demo import access
from portal.demo.news import News
from portal.demo.prometheus import Store
from portal.embedded import EngineError, Postgres, Redis, places
from portal.embedded.processes import Child, StoppedError, Supervisor

ROOT = Path(__file__).resolve().parents[2]
MANAGE = str(ROOT / "manage.py")
PORT = 8000
#: Of programs whose own few lines are the progress; the events of the tasks they wake are not.
QUIET = {"GPUPORTAL_LOG_LEVEL": "WARNING"}
FIRST = " (built first, as this machine has not done it yet: about 10 minutes)"


class Steps:
    """Prints one line for each step, with the time since the start."""

    def __init__(self) -> None:
        """Start the clock."""
        self.began = time.monotonic()

    def __call__(self, text: str) -> None:
        """Print one step."""
        sys.stdout.write(f"[{time.monotonic() - self.began:6.1f} s] {text}\n")
        sys.stdout.flush()


@dataclass(frozen=True)
class Place:
    """The folders of one demo."""

    folder: Path

    @property
    def cluster(self) -> Path:
        """Where the control plane keeps its data."""
        return self.folder / "cluster"

    @property
    def logs(self) -> Path:
        """Where each process writes its log."""
        return self.folder / "logs"

    @property
    def metrics(self) -> Path:
        """Where Prometheus keeps what the demo's GPUs did."""
        return self.folder / "prometheus"

    @property
    def lock(self) -> Path:
        """Who holds it is the one demo of this folder; the kernel takes it back from the dead."""
        return self.folder / "lock"

    @property
    def variables(self) -> Path:
        """What the processes of the newest start have in their environment, for this user only."""
        return self.folder / "environment.json"

    def keys(self) -> dict[str, str]:
        """Return this demo's keys, making them the first time."""
        path = self.folder / "keys.json"
        if not path.exists():
            places.write_secret(path, json.dumps(fresh_keys()))
        found: dict[str, str] = json.loads(path.read_text())
        return found


def fresh_keys() -> dict[str, str]:
    """Make a signing key and a pair of sealing keys."""
    from nacl.encoding import URLSafeBase64Encoder as Encoder
    from nacl.public import PrivateKey

    private = PrivateKey.generate()
    return {
        "secret": secrets.token_urlsafe(64),
        "private": private.encode(Encoder).decode(),
        "public": private.public_key.encode(Encoder).decode(),
    }


def environment(
    place: Place, postgres: Postgres, redis: Redis, port: int, live: int
) -> dict[str, str]:
    """Return what every process of the demo finds in its environment, the web process's share."""
    keys = place.keys()
    return {
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "PYTHONPATH": str(ROOT),
        "GPUPORTAL_DEMO": "1",
        "GPUPORTAL_HTTPS": "0",
        "GPUPORTAL_ALLOWED_HOSTS": "127.0.0.1,localhost",
        "GPUPORTAL_CLUSTER_NETWORKS": "127.0.0.0/8",
        "GPUPORTAL_SECRET_KEY": keys["secret"],
        "GPUPORTAL_SEALING_PUBLIC_KEY": keys["public"],
        "GPUPORTAL_DATABASE_URL": postgres.app_url,
        "GPUPORTAL_REDIS_URL": redis.url,
        "GPUPORTAL_STATIC_ROOT": str(place.folder / "static"),
        "GPUPORTAL_DEMO_URL": f"http://127.0.0.1:{port}",
        # No proxy joins the two here: pages listen on another port of the same host.
        "GPUPORTAL_LIVE_URL": f":{live}/live",
        "GPUPORTAL_TRUSTED_ORIGINS": f"http://127.0.0.1:{port},http://localhost:{port}",
    }


@contextmanager
def engines(place: Place, say: Steps) -> Iterator[tuple[Postgres, Redis]]:
    """Run PostgreSQL and Redis on this demo's data."""
    say("starting PostgreSQL")
    postgres = Postgres.start(place.folder / "postgres")
    try:
        say("starting Redis")
        redis = Redis.start(place.folder / "redis")
        try:
            yield postgres, redis
        finally:
            redis.stop()
    finally:
        postgres.stop()


@contextmanager
def starting(place: Place) -> Iterator[Future[Cluster]]:
    """Start the control plane beside the rest of the preparations, and take it down at the end."""
    with ThreadPoolExecutor(1, "control-plane") as pool:
        found = pool.submit(
            Cluster.start, "demo", place.cluster, two_teams_nodes(), parent_pid=os.getpid()
        )
        try:
            yield found
        finally:
            with contextlib.suppress(RuntimeError):
                found.result().stop()


def manage(env: dict[str, str], *arguments: str) -> None:
    """Run a management command to its end; what it prints is progress."""
    done = subprocess.run(  # noqa: S603 - a list made here
        [sys.executable, MANAGE, *arguments], env={**os.environ, **env}, cwd=ROOT, check=False
    )
    if done.returncode:
        message = f"manage.py {arguments[0]} failed with {done.returncode}"
        raise EngineError(message)


def answers(url: str) -> bool:
    """Tell whether a page answers."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def reserve(port: int) -> socket.socket:
    """Listen on the wanted port, or on a free one when it is taken, until the web process does.

    The preparations take half a minute, in which another demo could take the same one.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind(("127.0.0.1", port))
        held.listen(1)
    except OSError:
        held.close()
        return reserve(places.free_port())
    return held


def celery(*arguments: str) -> list[str]:
    """Return the command line of a Celery program."""
    return [sys.executable, "-m", "celery", "-A", "portal", *arguments]


def children(
    place: Place, env: dict[str, str], port: int, live: int
) -> tuple[list[Child], list[Child]]:
    """Return the programs that run before the seeding, and those after it."""
    opener = {"GPUPORTAL_SEALING_PRIVATE_KEY": place.keys()["private"]}
    url = f"http://127.0.0.1:{port}"
    worker = celery(
        "worker", "-Q", "apply,plan,read", "-c", "2", "--without-gossip", "--without-mingle"
    )
    web = [
        sys.executable, "-m", "gunicorn", "portal.wsgi", "--bind", f"127.0.0.1:{port}",
        "--workers", "2", "--threads", "4", "--worker-tmp-dir", str(place.folder),
        "--no-control-socket", "--forwarder-headers", "",
    ]  # fmt: skip
    streams = [sys.executable, "-m", "portal.live", "--host", "127.0.0.1", "--port", str(live)]
    hears = f"http://127.0.0.1:{live}/readyz"
    beat = celery("beat", "-s", str(place.folder / "beat-schedule"))
    observe = [sys.executable, MANAGE, "observe", "--cluster", "demo"]
    traffic = [sys.executable, "-m", "portal.demo.traffic", str(place.cluster)]
    # Only what nothing else wants of the machine: pages come first.
    quietly = ["nice", "-n", "10", sys.executable]
    Store(place.metrics).forget()
    asked, read = str(places.free_port()), str(places.free_port())
    server = ["--metrics", str(place.metrics), "--server", f"http://127.0.0.1:{asked}"]
    past = [*quietly, MANAGE, "demo_past", *server]
    exporter = [*quietly, "-m", "portal.demo.exporter", str(place.cluster), read]
    prometheus = [*quietly, "-m", "portal.demo.prometheus", str(place.metrics), asked, read]
    first = [
        Child("worker", worker, env=env | opener, cwd=ROOT),
        Child("beat", beat, env=env, cwd=ROOT),
        Child("web", web, env=env, cwd=ROOT, ready=lambda: answers(f"{url}/readyz")),
        Child("live", streams, env=env, cwd=ROOT, ready=lambda: answers(hears)),
    ]
    second = [
        Child("observer", observe, env=env | opener, cwd=ROOT),
        Child("traffic", traffic, env=env, cwd=ROOT),
        Child("exporter", exporter, env=env, cwd=ROOT),
        # Ends with 0 where there is nothing to serve.
        Child("prometheus", prometheus, env=env, cwd=ROOT, once=True),
        Child("past", past, env=env | QUIET, cwd=ROOT, once=True),
    ]
    return first, second


def run(place: Place, port: int, *, once: bool) -> None:
    """Start all of it, print the address, and stay until a signal."""
    say = Steps()
    place.folder.mkdir(parents=True, exist_ok=True)
    place.folder.chmod(0o711)
    # Before anything else: a second start would find the control plane and take it down at its end.
    alone = places.lock(place.lock)
    held, live = reserve(port), places.free_port()
    port = held.getsockname()[1]
    with alone, held, Supervisor(place.logs, say) as supervisor, contextlib.ExitStack() as stack:
        say(f"starting Kubernetes and Kueue{'' if built() else FIRST}")
        plane = stack.enter_context(starting(place))
        postgres, redis = stack.enter_context(engines(place, say))
        env = environment(place, postgres, redis, port, live)
        places.write_secret(place.variables, json.dumps(env))
        say("preparing the database")
        manage(env | {"GPUPORTAL_DATABASE_OWNER_URL": postgres.owner_url}, "migrate", "-v", "0")
        manage(env, "collectstatic", "--noinput", "-v", "0")
        say("waiting for Kubernetes and Kueue")
        cluster = result_of(plane, supervisor)
        access.grant(cluster)
        access.write(cluster, place.folder / "access.json")
        stack.callback(supervisor.stop)
        first, second = children(place, env, port, live)
        start(supervisor, say, first, held)
        manage(env | QUIET, "demo_seed", str(place.folder / "access.json"))
        for child in second:
            supervisor.start(child)
        stop_if_asked(supervisor)
        welcome(say, place, port, cluster)
        if not once:
            stay(supervisor, say, {"PostgreSQL": postgres, "Redis": redis})
        say("stopping")


def start(supervisor: Supervisor, say: Steps, first: list[Child], held: socket.socket) -> None:
    """Start the programs in order; the web process takes over the port that was held for it."""
    for child in first:
        say(f"starting {child.name}")
        if child.name == "web":
            held.close()
        supervisor.start(child)


def result_of(plane: Future[Cluster], supervisor: Supervisor) -> Cluster:
    """Wait for the control plane; what a signal has broken off is no failure."""
    try:
        cluster = plane.result()
    except RuntimeError:
        stop_if_asked(supervisor)
        raise
    stop_if_asked(supervisor)
    return cluster


def revive(say: Steps, servers: Mapping[str, Postgres | Redis]) -> None:
    """Start the servers again that have ended; what cannot be started is tried at the next look."""
    for name, server in servers.items():
        try:
            if server.again():
                say(f"{name} started again")
        except EngineError as error:
            say(f"{name}: {error}")


def stay(supervisor: Supervisor, say: Steps, servers: Mapping[str, Postgres | Redis]) -> None:
    """Keep all of it running until a signal, and tell what the background says."""
    news = News(supervisor.log_of("past"), say)

    def look() -> None:
        revive(say, servers)
        news.tell()

    supervisor.watch(first=look)


def stop_if_asked(supervisor: Supervisor) -> None:
    """End the start when a signal came meanwhile."""
    if supervisor.stopping:
        message = "stopped"
        raise StoppedError(message)


def welcome(say: Steps, place: Place, port: int, cluster: Cluster) -> None:
    """Tell where to look."""
    say("ready")
    sys.stdout.write(
        f"\n  Open      http://127.0.0.1:{port}\n"
        "  Sign in   with one click, as a lead, a user, an approver or an administrator\n"
        f"  kubectl   {cluster.kubectl_path} --kubeconfig={cluster.kubeconfig_path}\n"
        f"  Logs      {place.logs}\n"
        "  Costs     of two months before, generated; pages say so, and how far that is\n"
        '  Commands  make demo-manage ARGS="why nlp/train-bert-4 --as bob"\n'
        "  Stop      Ctrl-C; the data stays until: make demo-reset\n\n"
    )
    sys.stdout.flush()


def do(place: Place, command: list[str]) -> int:
    """Run a management command with the servers of a demo that runs; return its exit code."""
    if not place.variables.exists():
        message = "there is no demo here; start one with: make demo"
        raise EngineError(message)
    env = {**os.environ, **json.loads(place.variables.read_text())}
    return subprocess.run(  # noqa: S603 - the command of whoever runs the demo
        [sys.executable, MANAGE, *command], env=env, cwd=ROOT, check=False
    ).returncode


def reset(place: Place) -> None:
    """Delete the data of a demo that does not run, with what a broken one may have left."""
    if not place.folder.exists():
        sys.stdout.write("There is no demo data.\n")
        return
    places.lock(place.lock).close()
    servers = place.folder / "postgres"
    if servers.exists():
        places.lock(servers / "lock").close()
    down(place.cluster, delete=True)
    shutil.rmtree(place.folder)
    sys.stdout.write("The demo's data is gone. What was built is kept.\n")


def main(arguments: list[str]) -> int:
    """Read the arguments and run; an error is a sentence."""
    parser = argparse.ArgumentParser(prog="manage.py demo", description="Start the whole portal.")
    parser.add_argument("--reset", action="store_true", help="delete the demo's data and stop")
    parser.add_argument("--port", type=int, default=PORT, help="port of the web pages")
    parser.add_argument("--data", type=Path, help="another folder for the data")
    parser.add_argument("--once", action="store_true", help="stop as soon as all is ready")
    parser.add_argument(
        "--do", nargs=argparse.REMAINDER, metavar="COMMAND",
        help="run a management command with the servers of the demo that runs",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    place = Place(options.data.absolute() if options.data else places.home() / "demo")
    try:
        if options.do:
            return do(place, options.do)
        if options.reset:
            reset(place)
        else:
            run(place, options.port, once=options.once)
    except StoppedError:
        sys.stdout.write("Stopped. The next start goes on where this one was.\n")
    except (EngineError, RuntimeError) as error:
        what = "be thrown away" if options.reset else "be asked" if options.do else "start"
        sys.stderr.write(f"\nThe demo could not {what}: {error}\n")
        return 1
    return 0
