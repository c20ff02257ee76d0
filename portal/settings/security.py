"""Keys, hosts, cookies, headers and limits."""

from csp.constants import NONE, SELF

from portal.settings import env

SHORTEST_KEY = 50
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

# Never signs anything: in build mode nothing is served.
_build_key = "x" * SHORTEST_KEY if env.BUILD else None
SECRET_KEY = env.secret("GPUPORTAL_SECRET_KEY", _build_key, shortest=SHORTEST_KEY)
if not env.BUILD and (len(set(SECRET_KEY)) < 10 or SECRET_KEY.startswith("django-insecure")):
    raise env.ConfigError(
        "GPUPORTAL_SECRET_KEY is weak: it must be random. "
        'Make one with: python -c "import secrets; print(secrets.token_urlsafe(64))"'
    )
# Old keys, newest first, so that a new key does not log everybody out.
SECRET_KEY_FALLBACKS = [
    key.strip()
    for key in env.secret("GPUPORTAL_SECRET_KEY_FALLBACKS", "").split(",")
    if key.strip()
]

ALLOWED_HOSTS = env.items("GPUPORTAL_ALLOWED_HOSTS")
if not ALLOWED_HOSTS and not env.BUILD:
    raise env.ConfigError(
        "GPUPORTAL_ALLOWED_HOSTS is empty: name the host people use, for instance gpu.example.com."
    )
if "*" in ALLOWED_HOSTS:
    raise env.ConfigError("GPUPORTAL_ALLOWED_HOSTS is '*': name the hosts one by one.")
ONLY_LOOPBACK = set(ALLOWED_HOSTS) <= LOOPBACK

DEBUG = env.flag("GPUPORTAL_DEBUG", default=False)
if DEBUG:
    raise env.ConfigError(
        "GPUPORTAL_DEBUG is on: its error pages show settings and data. Unset it; "
        "to look into a problem, set GPUPORTAL_LOG_LEVEL=DEBUG."
    )

# Without HTTPS there are no secure cookies, so it is only for a portal on this very machine.
HTTPS = env.flag("GPUPORTAL_HTTPS", default=True)
if not HTTPS and not ONLY_LOOPBACK:
    raise env.ConfigError(
        "GPUPORTAL_HTTPS=0 is only for a portal on loopback; "
        f"GPUPORTAL_ALLOWED_HOSTS names {', '.join(sorted(set(ALLOWED_HOSTS) - LOOPBACK))}."
    )
CSRF_TRUSTED_ORIGINS = env.items("GPUPORTAL_TRUSTED_ORIGINS")
# How many proxies of ours stand in front; only then are their headers believed.
TRUSTED_PROXIES = env.number("GPUPORTAL_TRUSTED_PROXIES", 0, high=5)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None

# The __Host- prefix makes the browser refuse a cookie that another subdomain planted.
_prefix = "__Host-" if HTTPS else "gpuportal-"
SESSION_ENGINE = "tenants.sessions"
SESSION_COOKIE_NAME = f"{_prefix}sessionid"
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
CSRF_COOKIE_NAME = f"{_prefix}csrftoken"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "portal.web.errors.csrf_failure"
LANGUAGE_COOKIE_SECURE = HTTPS
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True

SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Where pages hear of news: a path of this site, which the proxy hands to the live process, or
# ":PORT/PATH" of the same host where there is no proxy. Empty: pages only ask by themselves.
LIVE_URL = env.matching("GPUPORTAL_LIVE_URL", r"(:\d{1,5})?/[A-Za-z0-9._/-]+|", "/live")
_live_sources = [
    f"{'https' if HTTPS else 'http'}://{host.replace('.', '*.', 1) if host[0] == '.' else host}"
    f"{LIVE_URL.partition('/')[0]}"
    for host in ALLOWED_HOSTS
    if LIVE_URL.startswith(":") and not host.startswith("[")
]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF, *_live_sources],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000
DATA_UPLOAD_MAX_NUMBER_FILES = 5
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
# A bill of a month may be this large over the web; a command reads a larger one from disk.
UPLOAD_LARGEST = env.number("GPUPORTAL_UPLOAD_MIB", 128, low=1, high=1024) * 1024 * 1024
FILE_UPLOAD_HANDLERS = [
    "portal.web.uploads.Bounded",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AUTH_PASSWORD_VALIDATORS[1] |= {"OPTIONS": {"min_length": 12}}  # type: ignore[dict-item]

# Credentials of clusters are sealed to the public key; only worker and observer hold the
# private one. Both are empty until a cluster is connected.
SEALING_PUBLIC_KEY = env.secret("GPUPORTAL_SEALING_PUBLIC_KEY", "")
SEALING_PRIVATE_KEY = env.secret("GPUPORTAL_SEALING_PRIVATE_KEY", "")

# Both open doors that must not exist where other people can reach the portal.
DEMO = env.flag("GPUPORTAL_DEMO", default=False)
FAULTPOINTS = env.mapping("GPUPORTAL_FAULTPOINTS")
if (DEMO or FAULTPOINTS) and (HTTPS or not ONLY_LOOPBACK):
    raise env.ConfigError(
        "GPUPORTAL_DEMO and GPUPORTAL_FAULTPOINTS are only for a portal on loopback with "
        "GPUPORTAL_HTTPS=0."
    )

# Where clusters may lie; empty means anywhere but on this machine and in the cloud's own services.
CLUSTER_NETWORKS = env.networks("GPUPORTAL_CLUSTER_NETWORKS")
