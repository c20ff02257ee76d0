"""Celery: Redis carries wake-ups, the database is the queue.

Losing a message costs a few seconds until the sweep, so nothing here tries to be exactly-once;
what matters is that a request is never slowed down by the broker and that no task is started
a second time while it still runs.
"""

from portal.settings import env

_build_url = "redis://127.0.0.1/0" if env.BUILD else None
REDIS_URL = env.url("GPUPORTAL_REDIS_URL", ("redis", "rediss"), _build_url)

# The shortest value of all processes on one Redis wins, so every process takes this one.
VISIBILITY_TIMEOUT = 120
TASK_HARD_LIMIT = 100
WORKER_SOCKET_TIMEOUT = 5

CELERY_BROKER_URL = REDIS_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker waits for its broker for as long as it takes.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": VISIBILITY_TIMEOUT,
    "socket_connect_timeout": 1,
    # Short, because a page waits for it. A worker takes WORKER_SOCKET_TIMEOUT: its reads wait
    # for messages, a second each.
    "socket_timeout": 0.8,
    "socket_keepalive": True,
    "health_check_interval": 20,
    "max_retries": 0,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.1,
    "global_keyprefix": "gpuportal:",
}
# A wake-up that cannot be sent at once is dropped: the sweep finds the work.
CELERY_TASK_PUBLISH_RETRY = False

CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_SERIALIZER = "json"
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT = 90
CELERY_TASK_TIME_LIMIT = TASK_HARD_LIMIT
CELERY_WORKER_MAX_TASKS_PER_CHILD = 1000
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10.0
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_TIMEZONE = "UTC"
CELERY_ENABLE_UTC = True

CELERY_TASK_DEFAULT_QUEUE = "read"
CELERY_TASK_CREATE_MISSING_QUEUES = False
TASK_QUEUES = ("apply", "plan", "read")
# Writing to a cluster never waits behind reading from one.
CELERY_TASK_ROUTES = {
    "queues.tasks.apply": {"queue": "apply"},
    "queues.tasks.plan": {"queue": "plan"},
    "queues.tasks.tick": {"queue": "plan"},
    "queues.tasks.tick_all": {"queue": "plan"},
    "queues.tasks.preflight": {"queue": "read"},
    "queues.tasks.sweep": {"queue": "read"},
    "costs.tasks.count": {"queue": "read"},
    "costs.tasks.count_all": {"queue": "read"},
    "costs.tasks.look": {"queue": "read"},
    "costs.tasks.look_all": {"queue": "read"},
    "costs.tasks.tell_owners": {"queue": "read"},
    "costs.tasks.reconcile": {"queue": "read"},
    "costs.tasks.reconcile_all": {"queue": "read"},
    "costs.tasks.harvest": {"queue": "read"},
    "costs.tasks.harvest_all": {"queue": "read"},
    "costs.tasks.match_bills": {"queue": "read"},
    "costs.tasks.read_bill": {"queue": "read"},
}

# Names of tasks and how often, in seconds. Tasks claim what is due in the database, so a tick
# that comes twice finds nothing to do the second time.
BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "tick every cluster": {
        "task": "queues.tasks.tick_all",
        "schedule": 15.0,
        "options": {"queue": "plan", "expires": 15},
    },
    "sweep for work without a wake-up": {
        "task": "queues.tasks.sweep",
        "schedule": 30.0,
        "options": {"queue": "read", "expires": 30},
    },
    # An hour is due ten minutes after its end. Most of these find nothing, and one whose message
    # is lost costs ten minutes instead of an hour.
    "count the hours that are over": {
        "task": "costs.tasks.count_all",
        "schedule": 600.0,
        "options": {"queue": "read", "expires": 60},
    },
    "look for idle devices": {
        "task": "costs.tasks.look_all",
        "schedule": 3600.0,
        "options": {"queue": "read", "expires": 60},
    },
    # A question is told when it is asked; this finds those whose message or mail was lost.
    "tell owners what they are asked": {
        "task": "costs.tasks.tell_owners",
        "schedule": 300.0,
        "options": {"queue": "read", "expires": 60},
    },
    # Of months that are over, those whose hours, bill, prices or policy have changed.
    "reconcile the months that are over": {
        "task": "costs.tasks.reconcile_all",
        "schedule": 600.0,
        "options": {"queue": "read", "expires": 60},
    },
    # An hour can be asked three minutes after its end, so that it is known when it is counted.
    "ask what the hours that are over used": {
        "task": "costs.tasks.harvest_all",
        "schedule": 120.0,
        "options": {"queue": "read", "expires": 60},
    },
    "join bills with nodes": {
        "task": "costs.tasks.match_bills",
        "schedule": 600.0,
        "options": {"queue": "read", "expires": 60},
    },
}
CELERY_BEAT_SCHEDULE = BEAT_SCHEDULE
