"""Mail: off, unless a server is named."""

from urllib.parse import unquote

from portal.settings import env
from portal.settings.security import ALLOWED_HOSTS, HTTPS

#: By scheme: the usual port, encrypted from the first byte, encrypted after a greeting.
_SCHEMES = {
    "smtp": (25, False, False),
    "smtps": (465, True, False),
    "smtp+tls": (587, False, True),
}
_url = env.secret("GPUPORTAL_EMAIL_URL", "")
MAIL_IS_ON = bool(_url)
if MAIL_IS_ON:
    _parts = env.split_url("GPUPORTAL_EMAIL_URL", _url, tuple(_SCHEMES))
    _port, EMAIL_USE_SSL, EMAIL_USE_TLS = _SCHEMES[_parts.scheme]
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    EMAIL_HOST = _parts.hostname or ""
    EMAIL_PORT = _parts.port or _port
    EMAIL_HOST_USER = unquote(_parts.username or "")
    EMAIL_HOST_PASSWORD = unquote(_parts.password or "")
    if EMAIL_HOST_PASSWORD and not (EMAIL_USE_SSL or EMAIL_USE_TLS):
        raise env.ConfigError(
            "GPUPORTAL_EMAIL_URL would send a password in the clear: use smtps:// or smtp+tls://."
        )
else:
    # Whoever sends nevertheless sends nothing.
    EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
# A worker waits for a mail server, and has other work too.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.matching("GPUPORTAL_EMAIL_FROM", r"[^@\s<>\"]+@[^@\s<>\"]+|", "")
if MAIL_IS_ON and not DEFAULT_FROM_EMAIL:
    raise env.ConfigError(
        "GPUPORTAL_EMAIL_URL is set and GPUPORTAL_EMAIL_FROM is not: a mail needs a sender."
    )

# Where links in mails lead: by default the first host that people use.
_host = next((host for host in ALLOWED_HOSTS if not host.startswith(".")), "")
_address = f"{'https' if HTTPS else 'http'}://{_host}" if _host else ""
PUBLIC_URL = env.matching("GPUPORTAL_PUBLIC_URL", r"https?://[^\s/?#]+|", _address)
