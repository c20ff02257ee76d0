"""The log holds no secrets and cannot be forged."""

import json
import logging

import pytest
import structlog

from portal.logs import StderrHandler, mask, masked_text, newline_safe

PLANTED = "hunter2-planted"


@pytest.mark.parametrize(
    "name",
    ["token", "api_token", "SECRET_KEY", "password", "Authorization", "kubeconfig", "ca_cert",
     "client_key", "cookie"],
)  # fmt: skip
def test_hides_the_values_of_telling_names(name):
    assert mask(None, "", {name: PLANTED}) == {name: "***"}


def test_hides_secrets_at_any_depth():
    event = {"event": "x", "data": {"list": [{"user": {"token": PLANTED, "name": "alice"}}]}}

    found = mask(None, "", event)

    assert PLANTED not in repr(found)
    assert found["data"]["list"][0]["user"]["name"] == "alice"


@pytest.mark.parametrize(
    "text",
    [
        f"cannot connect to postgresql://app:{PLANTED}@db/portal",
        f"sent Authorization: Bearer {PLANTED}",
        f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{PLANTED} cut off",
        f"got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.{PLANTED}",
    ],
)
def test_hides_secrets_inside_texts(text):
    assert PLANTED not in masked_text(text)


def test_keeps_ordinary_words():
    event = {"routing_key": "apply", "event": "the key question", "cluster": "a"}

    assert mask(None, "", dict(event)) == event


def test_writes_one_line_for_one_event():
    found = newline_safe(None, "", {"event": 'x\n{"event": "forged"}\r\x1b[31m\u2028', "n": 1})

    assert found == {"event": 'x\\n{"event": "forged"}\\r\\x1b[31m\\u2028', "n": 1}


@pytest.fixture
def written(capsys):
    """The lines that the real configuration writes."""
    from django.conf import settings

    settings_formatter = settings.LOGGING["formatters"]["line"]
    handler = StderrHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=settings_formatter["processors"],
            foreign_pre_chain=settings_formatter["foreign_pre_chain"],
        )
    )
    logger = logging.getLogger("tests.logs")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    logger.removeHandler(handler)


def test_one_json_object_per_line_for_both_ways_of_logging(written):
    structlog.get_logger("tests.logs").info("one\ntwo", token=PLANTED, cluster="a")
    logging.getLogger("tests.logs").info("at %s", f"https://u:{PLANTED}@h/", extra={"n": 3})

    first, second = written()
    assert (first["event"], first["token"], first["cluster"]) == ("one\ntwo", "***", "a")
    assert (second["event"], second["n"]) == ("at https://u:***@h/", 3)


def test_a_traceback_holds_no_password(written):
    try:
        raise ValueError(f"postgresql://app:{PLANTED}@db/portal")
    except ValueError:
        logging.getLogger("tests.logs").exception("failed")

    (line,) = written()
    assert "ValueError" in line["exception"]
    assert PLANTED not in json.dumps(line)
