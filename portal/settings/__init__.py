"""Production settings: the defaults, filled in from the environment.

There is no separate production file that could drift: a test run is this plus `test.py`.
"""

from portal.settings.celery import *  # noqa: F403 - settings are a flat list of names
from portal.settings.defaults import *  # noqa: F403
from portal.settings.defaults import TEMPLATES
from portal.settings.logging import *  # noqa: F403
from portal.settings.mail import *  # noqa: F403
from portal.settings.security import *  # noqa: F403
from portal.settings.security import DEMO

if DEMO:
    TEMPLATES[0]["OPTIONS"]["context_processors"] += ["portal.demo.views.accounts"]  # type: ignore[index, operator]
