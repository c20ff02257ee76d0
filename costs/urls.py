"""Addresses of what GPU time costs."""

from django.urls import path

from costs.views import cluster, tenant

urlpatterns = [
    path("t/<slug:slug>/costs/", tenant.costs, name="tenant-costs"),
    path("t/<slug:slug>/costs.csv", tenant.costs_csv, name="tenant-costs-csv"),
    path("clusters/<slug:slug>/costs/", cluster.costs, name="cluster-costs"),
]
