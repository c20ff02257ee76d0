"""How gunicorn serves the portal: ``gunicorn --config python:portal.gunicorn portal.wsgi``.

A page waits for the database most of its time, so each process has a few threads. Processes are
replaced now and then, which hides a slow leak until it is found.
"""

bind = "0.0.0.0:8000"
workers = 2
threads = 4
# No header may say where in the address the portal begins.
forwarder_headers = ""
timeout = 40
graceful_timeout = 20
max_requests = 5000
max_requests_jitter = 500
# Heartbeats of the processes; a disk that hangs must not look like a process that hangs.
worker_tmp_dir = "/dev/shm"  # noqa: S108
# django_structlog writes one line for each request, with its id and the person.
accesslog = None
# Nothing of ours uses it, and a container has no home for its file.
control_socket_disable = True
