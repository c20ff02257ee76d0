"""Run every check and every test, and say at the end what was good and what was not.

python .ci/checks.py             everything
python .ci/checks.py --lint      only what looks at the code
python .ci/checks.py tests/kube  only these tests (any arguments of pytest)
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CODE = ("portal", "tenants", "queues", "costs", "kube", "cluster", "tests", ".ci", "manage.py")
PACKAGES = ("portal", "tenants", "queues", "costs", "kube", "cluster")
BUILD = {"GPUPORTAL_BUILD": "1"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# One more than there are cores for: tests of the real cluster wait for most of their time.
WORKERS = min(os.cpu_count() or 1, 2) + 1
# A production-like environment for `manage.py check --deploy`; the key signs nothing.
DEPLOY = {
    "GPUPORTAL_SECRET_KEY": "".join(chr(48 + n) for n in range(64)),
    "GPUPORTAL_ALLOWED_HOSTS": "portal.example.com",
    "GPUPORTAL_DATABASE_URL": "postgresql://portal@127.0.0.1/portal",
    "GPUPORTAL_REDIS_URL": "redis://127.0.0.1/0",
}


def call(*command: str, env: dict[str, str] | None = None) -> bool:
    """Run a command in the repository; True when it went well."""
    merged = {**os.environ, **(env or {})}
    return subprocess.run(command, cwd=ROOT, env=merged, check=False).returncode == 0


def tool(name: str, *arguments: str, env: dict[str, str] | None = None) -> bool:
    """Run a program of the environment."""
    return call(str(BIN / name), *arguments, env=env)


def present(paths: tuple[str, ...]) -> list[str]:
    """Return those of the paths that exist."""
    return [path for path in paths if (ROOT / path).exists()]


def engines() -> bool:
    """Build the control plane and Prometheus for the tests; minutes the first time."""
    return tool("python", "-m", "cluster", "build", "--metrics")


def browser() -> bool:
    """Install Debian's Chromium when it is missing and this is root; else tests say so."""
    if any(shutil.which(name) for name in BROWSERS):
        return True
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        print("No Chromium and no right to install it: browser tests will be skipped.")
        return not in_ci()
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    install = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium")
    return call("apt-get", "update", "-qq", env=quiet) and call(*install, env=quiet)


def in_ci() -> bool:
    """Tell whether nothing may be skipped."""
    return os.environ.get("CI", "").lower() in ("1", "true")


def migrations() -> bool:
    """Look for a change of a model without its migration, on a real database."""
    return tool(
        "python", "-m", "portal.embedded", "manage.py", "makemigrations", "--check", "--dry-run"
    )


def tests(arguments: list[str]) -> bool:
    """Run pytest under coverage; a whole run also prints the coverage of each package."""
    data = ROOT / "build" / "coverage"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    good = tool("coverage", "run", "-m", "pytest", "-n", str(WORKERS), *arguments)
    tool("coverage", "combine", "--quiet")
    if not arguments:
        report()
    return good


def report() -> None:
    """Print the coverage of each package in one line, and keep the details as HTML."""
    tool("coverage", "html", "--quiet", "--directory", "build/coverage/html")
    for package in present(PACKAGES):
        command = (str(BIN / "coverage"), "report", "--format=total", f"--include={package}/*")
        total = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print(f"  coverage of {package:8} {total.stdout.strip() or 'none'} %")


def lint_steps() -> dict[str, Callable[[], bool]]:
    """Return the checks that only look at the code."""
    code = present(CODE)
    return {
        "ruff": lambda: tool("ruff", "check", "--quiet", *code),
        "format": lambda: tool("ruff", "format", "--check", "--quiet", *code),
        "types": lambda: tool("mypy", env=BUILD),
        "imports": lambda: tool("lint-imports", "--no-logo", env=BUILD),
        "migrations": migrations,
        "deploy check": lambda: tool(
            "python", "manage.py", "check", "--deploy", "--fail-level", "WARNING", env=DEPLOY
        ),
    }


def run(steps: dict[str, Callable[[], bool]]) -> int:
    """Run all steps, also after a failure, and print a line for each."""
    lines = []
    failed = False
    for name, step in steps.items():
        print(f"== {name}", flush=True)
        started = time.monotonic()
        good = step()
        failed = failed or not good
        lines.append(
            f"  {'ok' if good else 'FAILED':7} {name} ({time.monotonic() - started:.0f} s)"
        )
    print("\nSummary")
    print("\n".join(lines), flush=True)
    return int(failed)


def main(arguments: list[str]) -> int:
    """Choose the steps."""
    if arguments == ["--lint"]:
        return run(lint_steps())
    setup = {"control plane": engines, "browser": browser}
    if arguments:
        return run({**setup, "tests": lambda: tests(arguments)})
    return run({**setup, **lint_steps(), "tests": lambda: tests([])})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
