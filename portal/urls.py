"""All addresses of the portal: each app has its own list."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from portal.web import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("i18n/setlang/", require_POST(set_language), name="set_language"),
]
if settings.DEMO:
    urlpatterns.append(path("", include("portal.demo.views")))
urlpatterns += [
    path("", include(module)) for module in ("tenants.urls", "queues.urls", "costs.urls")
]

handler400 = "portal.web.errors.bad_request"
handler403 = "portal.web.errors.forbidden"
handler404 = "portal.web.errors.not_found"
handler500 = "portal.web.errors.server_error"
