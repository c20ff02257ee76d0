"""The command line: python -m cluster up | status | kubeconfig | nodes | job | down | ..."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from cluster import build, control, instance, paths, server
from cluster import supervisor as sup
from cluster.instance import Cluster
from cluster.jobs import KINDS, JobSpec, job_manifest, parse_pairs
from cluster.kueue import KueueOptions
from cluster.nodes import GPU, NodeSpec, delete_node, make_nodes, two_teams_nodes
from cluster.processes import ORDER


def _options(args: argparse.Namespace) -> KueueOptions:
    return KueueOptions(
        fair_sharing=args.fair_sharing,
        wait_for_pods_ready=args.wait_for_pods_ready,
        log_level=args.kueue_log_level,
    )


def parse_node_spec(text: str) -> list[NodeSpec]:
    """Read COUNTxGPUS[,racks=N][,prefix=P][,label=value...], or the name of a ready-made set."""
    if text == "two-teams":
        return two_teams_nodes()
    size, *rest = text.split(",")
    count, times, gpus = size.partition("x")
    if not (times and count.isdigit() and gpus.isdigit()):
        msg = f"{text!r}: use two-teams or COUNTxGPUS, for example 4x8,racks=2"
        raise ValueError(msg)
    pairs = parse_pairs(rest)
    racks, prefix = int(pairs.pop("racks", "0")), pairs.pop("prefix", "gpu")
    return make_nodes(int(count), int(gpus), racks, pairs, prefix)


def _up(args: argparse.Namespace) -> int:
    nodes = [spec for text in args.nodes for spec in parse_node_spec(text)]
    if args.foreground:
        if nodes:
            msg = "--nodes needs a cluster in the background"
            raise ValueError(msg)
        settings = instance.prepare(
            args.name, args.data, args.parent_pid, _options(args), args.etcd_compaction
        )
        return server.serve(settings)
    begun = time.monotonic()
    found = Cluster.start(
        name=args.name,
        data=args.data,
        nodes=nodes,
        parent_pid=args.parent_pid,
        kueue=_options(args),
        compaction=args.etcd_compaction,
        timeout=args.timeout,
    )
    print(f"{found.name} is ready after {time.monotonic() - begun:.1f} s: {found.server}")
    print(f"export KUBECONFIG={found.kubeconfig_path}")
    return 0


def _status(args: argparse.Namespace) -> int:
    data = paths.data_dir(args.name, args.data)
    try:
        answer = control.ask(data, "status")
    except control.NotRunningError:
        state = "starting" if sup.is_held(data) else "down"
        answer = {"name": args.name, "data": str(data), "state": state, "ready": False}
    print(json.dumps(answer, indent=2))
    return 0 if answer["ready"] else 1


def _kubeconfig(args: argparse.Namespace) -> int:
    found = Cluster.attach(args.name, args.data)
    if args.output:
        print(found.kubeconfig(args.output))
    elif args.content:
        print(found.kubeconfig_path.read_text(), end="")
    else:
        print(found.kubeconfig_path)
    return 0


def _kubectl(args: argparse.Namespace) -> int:
    found = Cluster.attach(args.name, args.data)
    print(found.kubectl(*args.arguments), end="")
    return 0


def _down(args: argparse.Namespace) -> int:
    data = paths.data_dir(args.name, args.data)
    ran = instance.down(data, args.delete)
    print(f"{args.name} is down" if ran else f"{args.name} was not running")
    return 0


def _nodes(args: argparse.Namespace) -> int:
    found = Cluster.attach(args.name, args.data)
    for name in args.delete:
        delete_node(found.api, name)
    if args.count:
        specs = make_nodes(
            args.count,
            args.gpus,
            args.racks,
            parse_pairs(args.label),
            args.prefix,
            cpu=args.cpu,
            memory=args.memory,
            resource=args.resource,
        )
        found.apply_nodes(specs)
    print(found.kubectl("get", "nodes", "--show-labels=false"), end="")
    return 0


def _job(args: argparse.Namespace) -> int:
    spec = JobSpec(
        name=args.job,
        namespace=args.namespace,
        queue=args.queue,
        gpus=args.gpus,
        pods=args.pods,
        seconds=args.seconds,
        priority=args.priority,
        kind=args.kind,
        cpu_per_gpu=args.cpu_per_gpu,
        memory_gib_per_gpu=args.memory_gib_per_gpu,
        tolerations=[{"key": key, "operator": "Exists"} for key in args.tolerate],
    )
    if args.dry_run:
        print(json.dumps(job_manifest(spec), indent=2))
        return 0
    answer = Cluster.attach(args.name, args.data).submit(spec)
    print(f"{answer['kind']} {spec.namespace}/{answer['metadata']['name']} created")
    return 0


def _process(args: argparse.Namespace) -> int:
    found = Cluster.attach(args.name, args.data)
    if args.command == "stop-process":
        found.stop_process(args.process)
    else:
        found.start_process(args.process, wait=not args.no_wait)
    print(json.dumps(vars(found.processes[args.process])))
    return 0


def _build(options: argparse.Namespace) -> int:
    of = (*build.BINARIES, *build.METRICS) if options.metrics else build.BINARIES
    for name, path in build.build(of=of).items():
        print(f"{name}\t{path}")
    return 0


def _add_up(up: argparse.ArgumentParser) -> None:
    up.add_argument("--foreground", action="store_true", help="run until SIGINT or SIGTERM")
    up.add_argument("--parent-pid", type=int, help="go down when this process is gone")
    up.add_argument(
        "--nodes",
        action="append",
        default=[],
        metavar="SPEC",
        help="two-teams or COUNTxGPUS[,racks=N][,prefix=P][,label=value]; may be repeated",
    )
    up.add_argument("--etcd-compaction", default="5m", help="0 switches it off")
    up.add_argument("--fair-sharing", action="store_true")
    up.add_argument("--wait-for-pods-ready", default="", metavar="TIME", help="such as 5m")
    up.add_argument("--kueue-log-level", type=int, default=2)
    up.add_argument("--timeout", type=float, default=instance.START_SECONDS)
    up.set_defaults(run=_up)


def _add_nodes(nodes: argparse.ArgumentParser) -> None:
    nodes.add_argument("--count", type=int, default=0)
    nodes.add_argument("--gpus", type=int, default=8)
    nodes.add_argument("--racks", type=int, default=0)
    nodes.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
    nodes.add_argument("--prefix", default="gpu")
    nodes.add_argument("--cpu", default="96")
    nodes.add_argument("--memory", default="1Ti")
    nodes.add_argument("--resource", default=GPU)
    nodes.add_argument("--delete", action="append", default=[], metavar="NODE")
    nodes.set_defaults(run=_nodes)


def _add_job(job: argparse.ArgumentParser) -> None:
    job.add_argument("job", metavar="JOB")
    job.add_argument("--namespace", default="default")
    job.add_argument("--queue", default="")
    job.add_argument("--gpus", type=int, default=8, help="per pod")
    job.add_argument("--pods", type=int, default=1)
    job.add_argument("--seconds", type=float, default=30)
    job.add_argument("--priority", default="", help="a WorkloadPriorityClass")
    job.add_argument("--kind", choices=KINDS, default="job")
    job.add_argument("--cpu-per-gpu", type=int, default=12)
    job.add_argument("--memory-gib-per-gpu", type=int, default=128)
    job.add_argument("--tolerate", action="append", default=[], metavar="TAINT-KEY")
    job.add_argument("--dry-run", action="store_true", help="only print the object")
    job.set_defaults(run=_job)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    which = argparse.ArgumentParser(add_help=False)
    which.add_argument("--name", default=paths.DEFAULT_NAME, help="which instance")
    which.add_argument("--data", type=Path, help="its data folder, if not the usual one")
    top = argparse.ArgumentParser(prog="python -m cluster", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[which])

    _add_up(add("up", "Start an instance and return when it is ready."))
    add("status", "Print the state as JSON; exit status 0 when ready.").set_defaults(run=_status)
    config = add("kubeconfig", "Print the path of the administrator's kubeconfig.")
    config.add_argument("--content", action="store_true", help="print the file itself")
    config.add_argument("--output", help="write a copy there")
    config.set_defaults(run=_kubeconfig)
    kubectl = add("kubectl", "Run kubectl as the administrator; put -- before its options.")
    kubectl.add_argument("arguments", nargs="*")
    kubectl.set_defaults(run=_kubectl)
    down = add("down", "Stop an instance.")
    down.add_argument("--delete", action="store_true", help="delete its data, too")
    down.set_defaults(run=_down)
    _add_nodes(add("nodes", "Create, change or delete GPU nodes, and list them."))
    _add_job(add("job", "Create a job that lasts a chosen time."))
    for name, text in (("stop-process", "Stop"), ("start-process", "Start")):
        process = add(name, f"{text} one process of the control plane.")
        process.add_argument("process", choices=ORDER)
        process.add_argument("--no-wait", action="store_true")
        process.set_defaults(run=_process)
    only_build = add("build", "Build all binaries and print where they are.")
    only_build.add_argument("--metrics", action="store_true", help="also Prometheus, for the tests")
    only_build.set_defaults(run=_build)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one command; errors that a person can act on are one line on stderr."""
    args = parser().parse_args(arguments)
    try:
        status = int(args.run(args))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, for example head, has seen enough; nothing is left to be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (build.BuildError, control.ControlError, instance.ClusterError, ValueError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
