"""Wrong settings stop the start, with one line that names the variable."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.http import Http404

from portal.demo import views
from portal.settings import env

ROOT = Path(__file__).parents[2]
KEY = hashlib.sha256(b"a test").hexdigest()
GOOD = {
    "GPUPORTAL_SECRET_KEY": KEY,
    "GPUPORTAL_ALLOWED_HOSTS": "gpu.example.com",
    "GPUPORTAL_DATABASE_URL": "postgresql://app:pa%2Fss@db.example.com:6432/portal",
    "GPUPORTAL_REDIS_URL": "redis://:pw@redis.example.com/0",
}
SHOW = "from django.conf import settings; print({})"


def python(code: str, changes: dict[str, str | None]) -> subprocess.CompletedProcess:
    """Run code with production settings; a None takes the variable away."""
    merged = {**GOOD, **changes}
    environment = {name: value for name, value in merged.items() if value is not None}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def shown(expression: str, **changes: str | None) -> str:
    done = python(SHOW.format(expression), changes)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("GPUPORTAL_SECRET_KEY", None, "is not set"),
        ("GPUPORTAL_SECRET_KEY", "short", "too short"),
        ("GPUPORTAL_SECRET_KEY", "a" * 80, "weak"),
        ("GPUPORTAL_SECRET_KEY", "django-insecure-" + KEY, "weak"),
        ("GPUPORTAL_ALLOWED_HOSTS", None, "is empty"),
        ("GPUPORTAL_ALLOWED_HOSTS", " , ", "is empty"),
        ("GPUPORTAL_ALLOWED_HOSTS", "*", "one by one"),
        ("GPUPORTAL_DEBUG", "1", "is on"),
        ("GPUPORTAL_DEBUG", "maybe", "must be 1 or 0"),
        ("GPUPORTAL_HTTPS", "0", "only for a portal on loopback"),
        ("GPUPORTAL_DEMO", "1", "only for a portal on loopback"),
        ("GPUPORTAL_FAULTPOINTS", '{"a": "kill9"}', "only for a portal on loopback"),
        ("GPUPORTAL_FAULTPOINTS", "kill9", "must be a JSON object"),
        ("GPUPORTAL_DATABASE_URL", None, "is not set"),
        ("GPUPORTAL_DATABASE_URL", "sqlite:///db", "not a usable URL"),
        ("GPUPORTAL_DATABASE_URL", "postgresql://app@db", "names no database"),
        ("GPUPORTAL_DATABASE_URL", "postgresql://app@db:port/x", "not a usable URL"),
        ("GPUPORTAL_REDIS_URL", None, "is not set"),
        ("GPUPORTAL_REDIS_URL", "http://redis/0", "not a usable URL"),
        ("GPUPORTAL_DATABASE_CONN_MAX_AGE", "-1", "whole number"),
        ("GPUPORTAL_DATABASE_CONN_MAX_AGE", "\uff11\uff12", "whole number"),
        ("GPUPORTAL_TRUSTED_PROXIES", "9", "from 0 to 5"),
        ("GPUPORTAL_CLUSTER_NETWORKS", "10.0.0.7/8", "has host bits set"),
        ("GPUPORTAL_EMAIL_URL", "http://mail", "not a usable URL"),
        ("GPUPORTAL_EMAIL_URL", "smtp://me:word@mail", "a password in the clear"),
        ("GPUPORTAL_EMAIL_URL", "smtps://mail", "needs a sender"),
        ("GPUPORTAL_EMAIL_FROM", "me", "not of the form"),
        ("GPUPORTAL_PUBLIC_URL", "gpu.example.com/", "not of the form"),
        ("GPUPORTAL_CLUSTER_NETWORKS", "example.com", "must look like"),
        ("GPUPORTAL_LOG_LEVEL", "LOUD", "must be one of"),
        ("GPUPORTAL_LIVE_URL", "https://other.example.com/live", "not of the form"),
        ("GPUPORTAL_LIVE_URL", "live", "not of the form"),
    ],
)
def test_refuses_to_start(name, value, why):
    done = python(SHOW.format("settings.DEBUG"), {name: value})

    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode != 0
    assert name in last
    assert why in last


def test_shows_no_password_in_a_message():
    wrong = {"GPUPORTAL_DATABASE_URL": "mysql://app:hunter2@db/x"}

    done = python(SHOW.format("settings.DEBUG"), wrong)

    assert done.returncode != 0
    assert "hunter2" not in done.stderr


def test_commands_answer_a_wrong_setting_with_one_line():
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 78
    assert done.stderr.startswith("The portal cannot start: GPUPORTAL_")
    assert "Traceback" not in done.stderr


def test_reads_a_secret_from_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")

    found = shown(
        "settings.SECRET_KEY", GPUPORTAL_SECRET_KEY=None, GPUPORTAL_SECRET_KEY_FILE=str(file)
    )

    assert found == KEY


def test_reads_the_database_from_a_file(tmp_path):
    file = tmp_path / "url"
    file.write_text("postgresql://file:secret@db/portal")

    found = shown(
        "settings.DATABASES['default']['USER']",
        GPUPORTAL_DATABASE_URL=None,
        GPUPORTAL_DATABASE_URL_FILE=str(file),
    )

    assert found == "file"


@pytest.mark.parametrize("content", [None, ""])
def test_refuses_a_secret_file_without_a_secret(tmp_path, monkeypatch, content):
    file = tmp_path / "key"
    [file.write_text(text) for text in [content] if text is not None]
    monkeypatch.setenv("GPUPORTAL_SECRET_KEY_FILE", str(file))
    monkeypatch.delenv("GPUPORTAL_SECRET_KEY")

    with pytest.raises(env.ConfigError, match="GPUPORTAL_SECRET_KEY_FILE"):
        env.secret("GPUPORTAL_SECRET_KEY")


def test_refuses_a_secret_that_is_given_twice(monkeypatch):
    monkeypatch.setenv("GPUPORTAL_SECRET_KEY_FILE", "/etc/hostname")

    with pytest.raises(env.ConfigError, match="both set"):
        env.secret("GPUPORTAL_SECRET_KEY")


def test_takes_the_database_url_apart():
    found = shown(
        "[settings.DATABASES['default'][k] for k in ('NAME', 'USER', 'PASSWORD', 'HOST', 'PORT')]"
    )

    assert found == "['portal', 'app', 'pa/ss', 'db.example.com', '6432']"


MAIL = "s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_USE_SSL, s.EMAIL_USE_TLS, s.EMAIL_HOST_PASSWORD"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("smtps://me:pa%2Fss@mail", ("mail", 465, True, False, "pa/ss")),
        ("smtp+tls://me:pw@mail:2525", ("mail", 2525, False, True, "pw")),
        ("smtp://mail", ("mail", 25, False, False, "")),
    ],
)
def test_a_mail_server_is_named_by_one_address(url, found):
    given = {"GPUPORTAL_EMAIL_URL": url, "GPUPORTAL_EMAIL_FROM": "gpu@example.com"}
    expression = f"(lambda s: ({MAIL}))(settings)"

    assert shown(expression, **given) == str(found)


def test_without_a_mail_server_nothing_is_sent_and_links_have_the_first_host():
    found = shown(
        "(settings.MAIL_IS_ON, settings.EMAIL_BACKEND.split('.')[-2], settings.PUBLIC_URL)"
    )

    assert found == "(False, 'dummy', 'https://gpu.example.com')"


def test_production_cookies_are_bound_to_the_host():
    found = shown("[settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_SECURE]")

    assert found == "['__Host-sessionid', True]"


def test_plain_http_is_allowed_on_loopback_alone():
    found = shown(
        "settings.SESSION_COOKIE_NAME", GPUPORTAL_HTTPS="0", GPUPORTAL_ALLOWED_HOSTS="localhost"
    )

    assert found == "gpuportal-sessionid"


def test_an_old_key_still_opens_what_it_signed():
    code = (
        "from django.core import signing; from django.conf import settings\n"
        f"old = signing.dumps('x', key='{KEY}')\nprint(signing.loads(old))"
    )

    done = python(code, {"GPUPORTAL_SECRET_KEY": KEY[::-1], "GPUPORTAL_SECRET_KEY_FALLBACKS": KEY})

    assert done.stdout.strip() == "x"


def test_the_web_process_refuses_the_private_sealing_key():
    done = python("import portal.wsgi", {"GPUPORTAL_SEALING_PRIVATE_KEY": "x" * 44})

    assert "Only worker and observer may have it" in done.stderr.strip().splitlines()[-1]


def test_migrations_connect_as_the_owner():
    code = (
        "import sys; sys.argv = ['manage.py', 'migrate']\n"
        "from django.conf import settings; print(settings.DATABASES['default']['USER'])"
    )

    done = python(code, {"GPUPORTAL_DATABASE_OWNER_URL": "postgresql://owner@db/portal"})

    assert done.stdout.strip() == "owner"


def test_the_deploy_check_finds_nothing():
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **GOOD},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("url", "sources"),
    [
        ("/live", "[\"'self'\"]"),
        ("", "[\"'self'\"]"),
        (":8443/live", "[\"'self'\", 'https://gpu.example.com:8443']"),
    ],
)
def test_pages_may_connect_to_the_portal_alone(url, sources):
    policy = "settings.CONTENT_SECURITY_POLICY['DIRECTIVES']['connect-src']"

    assert shown(policy, GPUPORTAL_LIVE_URL=url) == sources


def test_a_name_that_cannot_be_one_is_nobody_of_the_demo(rf, settings):
    """The name is looked for among the cast first: no text that a database refuses gets there."""
    settings.DEMO = True
    with pytest.raises(Http404):
        views.sign_in(rf.post("/demo/sign-in", {"username": "a\0"}))
