"""The demo's Prometheus: its history is made by ``promtool``, then it reads the demo's exporter.

``python -m portal.demo.prometheus FOLDER PORT EXPORTER_PORT`` waits until another process has
made the history, and becomes the server. It ends at once where there will be none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster import build, paths
from portal.demo.past_places import NODES
from portal.demo.readings import EVERY, JOB, Past

Say = Callable[[str], None]

#: Blocks of a size that Prometheus makes itself, so that it has little to put together.
BLOCK: Final = 54 * 3600
PAUSE: Final = 0.5


class NoHistoryError(RuntimeError):
    """There is no Prometheus here, or its history could not be made; the text says why."""


@dataclass(frozen=True)
class Store:
    """The folder of the server."""

    folder: Path

    @property
    def data(self) -> Path:
        """Where samples are kept; it exists only when the whole history is in it."""
        return self.folder / "data"

    @property
    def state(self) -> Path:
        """What became of it: the program to run, or why there is none."""
        return self.folder / "state.json"

    def read(self) -> dict[str, str]:
        """Return what is known: ``program`` or ``failed``; neither while it is being made."""
        try:
            found: dict[str, str] = json.loads(self.state.read_text())
        except FileNotFoundError:
            return {}
        return found

    def note(self, **facts: str) -> None:
        """Say what became of it, for the process that waits."""
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.state.with_suffix(".new")
        fresh.write_text(json.dumps(facts))
        fresh.replace(self.state)

    def forget(self) -> None:
        """Forget what became of it at an earlier start: the programs may have been made anew."""
        self.state.unlink(missing_ok=True)


def programs(say: Say) -> tuple[Path, Path]:
    """Return Prometheus and promtool, built first where they are missing: some minutes.

    ``NoHistoryError`` if that cannot be, as without a network.
    """
    try:
        found = build.build(tell=say, of=build.METRICS)
    except (build.BuildError, OSError) as error:
        raise NoHistoryError(str(error)) from error
    return found["prometheus"], found["promtool"]


def fill(store: Store, past: Past, span: tuple[int, int], promtool: Path, say: Say) -> None:
    """Make the blocks of a time; all of them are there at the end, or ``NoHistoryError``."""
    if store.data.exists():
        return
    making = store.folder / "making"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    edges = list(range(span[0] - span[0] % BLOCK, span[1], BLOCK))
    for n, edge in enumerate(edges, 1):
        lo, hi = max(span[0], edge), min(span[1], edge + BLOCK)
        text = store.folder / "readings.om"
        with text.open("w") as file:
            file.writelines(past.text(lo, hi))
        _blocks(promtool, text, making)
        text.unlink()
        if not n % 10:
            say(f"readings of GPUs: {100 * n // len(edges)} %")
    making.rename(store.data)


def _blocks(promtool: Path, text: Path, data: Path) -> None:
    command = [
        sys.executable, str(paths.CHILD), str(os.getpid()), str(promtool), "tsdb",
        "create-blocks-from", "openmetrics", "--quiet", f"--max-block-duration={BLOCK}s",
        str(text), str(data),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        raise NoHistoryError(done.stderr.strip()[-1000:])


def config(exporter: int) -> str:
    """Return the settings: one target for each node, all of them of one exporter."""
    targets = "".join(
        f'      - targets: ["127.0.0.1:{exporter}"]\n'
        f"        labels: {{__metrics_path__: /{node}/metrics, instance: {node}}}\n"
        for node in NODES
    )
    return (
        f"global: {{scrape_interval: {EVERY}s, scrape_timeout: 10s}}\n"
        f"scrape_configs:\n  - job_name: {JOB}\n    honor_labels: true\n"
        f"    static_configs:\n{targets}"
    )


def command(store: Store, program: str, port: int, exporter: int) -> list[str]:
    """Write the settings and return the command line of the server."""
    settings = store.folder / "prometheus.yml"
    settings.write_text(config(exporter))
    return [
        program, f"--config.file={settings}", f"--web.listen-address=127.0.0.1:{port}",
        f"--storage.tsdb.path={store.data}", "--storage.tsdb.retention.time=100y",
        "--log.level=warn",
    ]  # fmt: skip


def is_ready(server: str) -> bool:
    """Tell whether the server answers."""
    try:
        with urllib.request.urlopen(f"{server}/-/ready", timeout=2) as answer:  # noqa: S310 - our own
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def main(folder: str, port: str, exporter: str) -> None:
    """Wait for the history, then become the server."""
    store = Store(Path(folder))
    while not (found := store.read()):
        time.sleep(PAUSE)
    if "program" not in found:
        return
    line = command(store, found["program"], int(port), int(exporter))
    os.execv(line[0], line)  # noqa: S606 - no shell is what is wanted here


if __name__ == "__main__":
    main(*sys.argv[1:])
