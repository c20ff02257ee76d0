"""Addresses of the API, below /api/v1/."""

from django.urls import path

from queues.api import clusters, jobs, queues, requests, schema, tenants

_JOB = "jobs/<slug:cluster>/<str:namespace>/<str:name>/"

urlpatterns = [
    path("", schema.Root.as_view(), name="api-root"),
    path("schema/", schema.Schema.as_view(), name="api-schema"),
    path("jobs/", jobs.Jobs.as_view(), name="api-jobs"),
    path(_JOB, jobs.Job.as_view(), name="api-job"),
    path(f"{_JOB}why/", jobs.JobWhy.as_view(), name="api-why"),
    path("queues/", queues.Queues.as_view(), name="api-queues"),
    path("queues/<slug:cluster>/<str:name>/", queues.OneQueue.as_view(), name="api-queue"),
    path(
        "queues/<slug:cluster>/<str:name>/positions/",
        queues.Positions.as_view(),
        name="api-positions",
    ),
    path("tenants/", tenants.Tenants.as_view(), name="api-tenants"),
    path("tenants/<slug:slug>/", tenants.OneTenant.as_view(), name="api-tenant"),
    path("requests/", requests.Requests.as_view(), name="api-requests"),
    path("requests/<uuid:pk>/", requests.OneRequest.as_view(), name="api-request"),
    path("clusters/", clusters.Clusters.as_view(), name="api-clusters"),
    path("clusters/<slug:slug>/", clusters.OneCluster.as_view(), name="api-cluster"),
]
