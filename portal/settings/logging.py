"""Logs: one JSON object per line, with the request's id and the person, without secrets."""

import structlog

from portal.logs import mask, newline_safe
from portal.settings import env

LOG_LEVEL = env.text("GPUPORTAL_LOG_LEVEL", "INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
LOG_FORMAT = env.text("GPUPORTAL_LOG_FORMAT", "json", choices=("json", "console"))

_shared: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    structlog.processors.UnicodeDecoder(),
    mask,
]
_last: list[structlog.typing.Processor] = (
    [structlog.processors.JSONRenderer(sort_keys=True)]
    if LOG_FORMAT == "json"
    else [newline_safe, structlog.dev.ConsoleRenderer(colors=False)]
)

structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_shared,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_last],
            "foreign_pre_chain": _shared,
        }
    },
    "handlers": {"stderr": {"class": "portal.logs.StderrHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Every request is logged once, by django_structlog; these would say it again.
        "django.server": {"handlers": [], "level": "ERROR", "propagate": False},
        "django.request": {"level": "ERROR"},
        "kubernetes": {"level": "WARNING"},
        "urllib3": {"level": "WARNING"},
        "django": {"handlers": [], "level": "INFO", "propagate": True},
    },
}

DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_USER_ID_FIELD = "pk"
