"""Addresses of what GPU time costs."""

from django.urls import path

from costs.views import cluster, statement, tenant

urlpatterns = [
    path("t/<slug:slug>/costs/", tenant.costs, name="tenant-costs"),
    path("t/<slug:slug>/costs.csv", tenant.costs_csv, name="tenant-costs-csv"),
    path("t/<slug:slug>/statements/<int:period>/", statement.statement, name="statement"),
    path(
        "t/<slug:slug>/statements/<int:period>.csv", statement.statement_csv, name="statement-csv"
    ),
    path("clusters/<slug:slug>/costs/", cluster.costs, name="cluster-costs"),
]
