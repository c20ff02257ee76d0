"""Addresses of costs in the API, below /api/v1/. Names of books may have any sign in them."""

from django.urls import path

from costs.api import lost, money, periods, pools, tenants

_TENANT = "tenants/<slug:slug>"
_POOL = "<slug:cluster>/costs/months"

urlpatterns = [
    path(f"{_TENANT}/costs/months/", tenants.Months.as_view(), name="api-tenant-months"),
    path(f"{_TENANT}/costs/days/", tenants.Days.as_view(), name="api-tenant-days"),
    path(f"{_TENANT}/costs/hours/", tenants.Hours.as_view(), name="api-tenant-hours"),
    path(
        f"{_TENANT}/costs/amounts/<str:month>/<slug:cluster>/<str:flavor>/<path:resource>/",
        money.Amounts.as_view(),
        name="api-tenant-amounts",
    ),
    path(f"{_TENANT}/costs/lost/<str:month>/", lost.Lost.as_view(), name="api-tenant-lost"),
    path(f"{_TENANT}/statements/", money.Statements.as_view(), name="api-tenant-statements"),
    path(
        f"{_TENANT}/statements/<str:month>/<path:book>/",
        money.OneStatement.as_view(),
        name="api-tenant-statement",
    ),
    path(f"clusters/{_POOL}/", pools.PoolMonths.as_view(), name="api-pool-months"),
    path(
        f"clusters/{_POOL}/<str:month>/<str:flavor>/<path:resource>/",
        pools.PoolMonth.as_view(),
        name="api-pool-month",
    ),
    path("periods/", periods.Periods.as_view(), name="api-periods"),
    path(
        "periods/<str:month>/discrepancies/<path:book>/",
        periods.Discrepancies.as_view(),
        name="api-discrepancies",
    ),
    path("periods/<str:month>/<path:book>/", periods.OnePeriod.as_view(), name="api-period"),
    path("bills/", periods.Bills.as_view(), name="api-bills"),
    path(
        "bills/<str:digest>/problems/<path:source>/",
        periods.BillProblems.as_view(),
        name="api-bill-problems",
    ),
]
