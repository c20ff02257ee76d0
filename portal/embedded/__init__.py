"""PostgreSQL, Redis and processes started from Python, for the demo and for the tests.

Plain Python: nothing in here imports Django, so it can run before any settings exist.
"""

from portal.embedded.places import EngineError
from portal.embedded.postgres import Postgres
from portal.embedded.processes import Child, Supervisor
from portal.embedded.redis import Redis

__all__ = ["Child", "EngineError", "Postgres", "Redis", "Supervisor"]
