"""Addresses of the intent side."""

from django.urls import path, re_path

from tenants.views import catalog, people, session, trail

_KIND = "(?P<kind>flavors|topologies|departments|tenants|queues|entries|priorities)"
_CATALOG = f"^catalog/(?P<slug>[a-z0-9-]{{1,40}})/{_KIND}"
# The name of an entry has a slash in it: namespace/name.
_NAME = "(?P<name>[A-Za-z0-9._-]{1,253}(/[A-Za-z0-9._-]{1,253})?)"

urlpatterns = [
    path("login/", session.sign_in, name="login"),
    path("logout/", session.sign_out, name="logout"),
    path("t/<slug:slug>/people/", people.people, name="tenant-people"),
    path("t/<slug:slug>/people/change", people.member, name="tenant-member"),
    path("people/", people.accounts, name="people"),
    path("people/new", people.add, name="person-new"),
    path("people/<int:pk>/", people.account, name="person"),
    path("people/<int:pk>/role", people.role, name="person-role"),
    path("people/<int:pk>/close", people.close, name="person-close"),
    path("password/", people.password, name="password"),
    path("catalog/", catalog.overview, name="catalog"),
    path("catalog/<slug:slug>/", catalog.cluster, name="catalog-cluster"),
    re_path(f"{_CATALOG}/new$", catalog.propose, name="catalog-new"),
    re_path(f"{_CATALOG}/{_NAME}/edit$", catalog.propose, name="catalog-edit"),
    re_path(f"{_CATALOG}/{_NAME}/$", catalog.item, name="catalog-item"),
    path("audit/", trail.trail, name="audit"),
    path("audit/verify", trail.prove, name="audit-verify"),
]
