"""The Celery app, and the task class through which wake-ups are sent."""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import structlog
from celery import Celery, shared_task
from celery.contrib.django.task import DjangoTask
from celery.signals import celeryd_init, setup_logging
from django.conf import settings
from django.db import transaction
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu import Queue
from kombu.exceptions import OperationalError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

log = structlog.get_logger(__name__)


class WakeUp(DjangoTask):
    """A task whose message may be lost without harm.

    The work is a row in the database; the sweep finds it within half a minute. So a broker
    that is down or hangs must neither fail a request nor slow the next ones down: after one
    failure no message is tried for a few seconds.
    """

    abstract = True
    PAUSE_SECONDS = 5.0
    paused_until = 0.0

    def delay_on_commit(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Send the wake-up when the transaction is committed."""
        transaction.on_commit(partial(self.wake, *args, **kwargs))

    def wake(self, *args: Any, **kwargs: Any) -> bool:
        """Send it now; False when the broker did not take it."""
        if time.monotonic() < WakeUp.paused_until:
            return False
        try:
            self.apply_async(args, kwargs, retry=False)
        except (OperationalError, OSError, RuntimeError) as error:
            # RuntimeError is what kombu says of a pool that somebody has closed.
            WakeUp.paused_until = time.monotonic() + self.PAUSE_SECONDS
            log.warning("wake_up_lost", task=self.name, error=str(error))
            return False
        return True


def task(function: Callable[..., None]) -> WakeUp:
    """Make a task of a function: `shared_task`, with the type that it really returns."""
    return cast(WakeUp, shared_task(function))


app = Celery("portal", task_cls=WakeUp)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name) for name in settings.TASK_QUEUES]
app.autodiscover_tasks()
# Takes the request's id and the person from the message into the worker's log.
app.steps["worker"].add(DjangoStructLogInitStep)


@celeryd_init.connect
def wait_as_a_worker(conf: Any, **_: Any) -> None:
    """Give a worker's connection more time than that of a page that sends a wake-up."""
    options = {**conf.broker_transport_options, "socket_timeout": settings.WORKER_SOCKET_TIMEOUT}
    conf.broker_transport_options = options


@setup_logging.connect
def use_django_logging(**_: Any) -> None:
    """Keep Celery's hands off: Django's LOGGING is set up already and masks secrets."""
