"""Settings of a test run: production with four things changed.

The environment (plain http, servers of the run) is prepared by `tests/engines.py`.
"""

import os

from portal.settings import *  # noqa: F403 - settings are a flat list of names
from portal.settings import ALLOWED_HOSTS, REDIS_URL, STORAGES, env

ALLOWED_HOSTS += ["testserver"]
# A slow hash would only make the tests slow.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_AUTOREFRESH = True

# The test database is made and emptied by the owner; tests/conftest.py lets each test run as
# the application's role.
DATABASES = {
    "default": {
        **env.database("GPUPORTAL_DATABASE_OWNER_URL"),
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": False,
    }
}

# Each worker of pytest-xdist has a Redis database of its own: a Celery worker that a test starts
# must not take the wake-ups of another test, whose rows it does not have. Settings are read
# before any conftest, so this is the place where it holds for every part.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if _worker:
    REDIS_URL = f"{REDIS_URL.rsplit('/', 1)[0]}/{int(_worker.removeprefix('gw')) + 1}"
    CELERY_BROKER_URL = REDIS_URL
