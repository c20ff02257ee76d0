"""Addresses of the pages that join intent and effect."""

from django.urls import include, path

from queues.views import clusters, home, job, jobs, misrouted, plans, queues, requests, tenant

urlpatterns = [
    path("", home.home, name="home"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("t/<slug:slug>/", tenant.tenant, name="tenant"),
    path("t/<slug:slug>/requests/new", requests.new, name="request-new"),
    path("requests/", requests.requests, name="requests"),
    path("requests/<uuid:pk>/", requests.request_, name="request"),
    path("requests/<uuid:pk>/edit", requests.edit, name="request-edit"),
    path("requests/<uuid:pk>/withdraw", requests.withdraw, name="request-withdraw"),
    path("requests/<uuid:pk>/plan-again", requests.plan_again, name="request-plan-again"),
    path("requests/<uuid:pk>/abandon", requests.abandon, name="request-abandon"),
    path("plans/<uuid:pk>/", plans.plan, name="plan"),
    path("plans/<uuid:pk>/approve", plans.approve, name="plan-approve"),
    path("plans/<uuid:pk>/reject", plans.reject, name="plan-reject"),
    path("plans/<uuid:pk>/keep-theirs", plans.keep_theirs, name="plan-keep-theirs"),
    path("plans/<uuid:pk>/abandon", plans.abandon, name="plan-abandon"),
    path("applies/<uuid:pk>/", plans.apply, name="apply"),
    path("applies/<uuid:pk>/retry", plans.retry, name="apply-retry"),
    path("c/<slug:cluster>/queues/<slug:name>/", queues.queue, name="queue"),
    path("c/<slug:cluster>/jobs/<slug:namespace>/<str:name>/", job.job, name="job"),
    path("misrouted/", misrouted.misrouted, name="misrouted"),
    path("clusters/", clusters.clusters, name="clusters"),
    path("clusters/register", clusters.register, name="cluster-register"),
    path("clusters/<slug:slug>/", clusters.cluster, name="cluster"),
    path("clusters/<slug:slug>/writing", clusters.writing, name="cluster-writing"),
    path("clusters/<slug:slug>/disconnect", clusters.disconnect, name="cluster-disconnect"),
    path("api/v1/", include("queues.api.addresses")),
]
