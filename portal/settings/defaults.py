"""What the portal is made of: apps, middleware, templates, database, languages."""

import sys
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from portal.settings import env

BASE_DIR = Path(__file__).resolve().parents[2]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.forms",
    "rest_framework",
    "django_filters",
    "django_htmx",
    "template_partials",
    "django_structlog",
    "csp",
    "portal.apps.PortalConfig",
    "portal.web.apps.WebConfig",
    "tenants",
    "queues",
    "costs",
]

MIDDLEWARE = [
    # Outermost first: the id of a request is known before anything can fail, and the answer to
    # a failure carries the same headers as any other answer.
    "portal.web.middleware.RequestIdMiddleware",
    "portal.web.middleware.HealthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "portal.web.middleware.HeadersMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "tenants.middleware.PersonMiddleware",
    "tenants.middleware.LogMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.web.middleware.LoginRedirectMiddleware",
    "portal.web.middleware.DomainErrorMiddleware",
    "tenants.middleware.RightsMiddleware",
    "tenants.middleware.RefusalMiddleware",
]

ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "queues.views.frame.frame",
            ],
        },
    },
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# The owner of the tables is used for what changes their shape, and for nothing else. Everything
# that serves a request or runs a task connects as a role that cannot rewrite the audit trail.
OWNER_COMMANDS = frozenset(
    {"migrate", "grant", "sqlmigrate", "showmigrations", "makemigrations", "squashmigrations"}
)
DATABASE_AS_OWNER = (
    Path(sys.argv[0]).name == "manage.py" and len(sys.argv) > 1 and sys.argv[1] in OWNER_COMMANDS
)
_timeouts = (
    "-c lock_timeout=2s"
    if DATABASE_AS_OWNER
    else "-c lock_timeout=5s -c statement_timeout=30s -c idle_in_transaction_session_timeout=60s"
)
DATABASES = {
    "default": env.database(
        "GPUPORTAL_DATABASE_OWNER_URL" if DATABASE_AS_OWNER else "GPUPORTAL_DATABASE_URL",
        "postgresql://nobody@127.0.0.1/none" if env.BUILD else None,
    )
}
DATABASES["default"] |= {
    "CONN_MAX_AGE": env.number("GPUPORTAL_DATABASE_CONN_MAX_AGE", 60),
    "CONN_HEALTH_CHECKS": True,
    "ATOMIC_REQUESTS": False,
}
DATABASES["default"]["OPTIONS"].setdefault("options", _timeouts)
DATABASES["default"]["OPTIONS"].setdefault("connect_timeout", 3)
# Which role gets rights on new tables after a migration.
DATABASE_APP_ROLE = env.text("GPUPORTAL_DATABASE_APP_ROLE", "gpuportal_app")
# Tables that the application may only add rows to.
APPEND_ONLY_TABLES = (
    "tenants_auditevent",
    "tenants_revision",
    "queues_interval",
    "queues_eviction",
    "queues_conditionchange",
    "queues_gap",
    "queues_podinterval",
    "queues_quotachange",
    "queues_nodechange",
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "tenants.User"
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"

LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
# A language is offered once its texts are there: a page that is half in another helps nobody.
LANGUAGES = [
    ("en", _("English")),
    *(
        (code, name)
        for code, folder, name in [("zh-hans", "zh_Hans", _("Simplified Chinese"))]
        if (BASE_DIR / "locale" / folder / "LC_MESSAGES" / "django.mo").exists()
    ),
]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("GPUPORTAL_STATIC_ROOT", str(BASE_DIR / "build" / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

REST_FRAMEWORK = {
    # Nothing is open by accident: an API view names its permission or nobody gets in.
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["portal.web.authentication.SessionAuthentication"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    # It only reads: no body is looked at.
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "portal.web.api.api_exception",
    # One form, chosen by nothing in the address.
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "COERCE_DECIMAL_TO_STRING": True,
    "STRICT_JSON": True,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "GPU quota portal",
    "DESCRIPTION": (
        "What the pages show, for programs, under the same rights. It only reads. Times are RFC "
        "3339 in UTC; amounts are whole numbers in the unit beside them. See docs/api.md."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": False,
    "ENUM_NAME_OVERRIDES": {
        "PeriodStateEnum": "costs.models.Period.State",
        "BillStateEnum": "costs.models.BillFile.State",
    },
}
