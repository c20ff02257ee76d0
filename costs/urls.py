"""Addresses of what GPU time costs."""

from django.urls import include, path

from costs.views import (
    board,
    books,
    closing,
    cluster,
    disputes,
    home,
    metrics,
    statement,
    tenant,
    tolerances,
)

urlpatterns = [
    path("costs/", home.home, name="costs"),
    path("costs/periods/open/", home.begin, name="costs-open"),
    path("costs/periods/<int:pk>/", board.board, name="costs-period"),
    path("costs/periods/<int:pk>.csv", board.board_csv, name="costs-period-csv"),
    path("costs/periods/<int:pk>/run/", board.run, name="costs-run"),
    path("costs/periods/<int:pk>/bill/", board.bill, name="costs-bill"),
    path("costs/periods/<int:pk>/review/", board.review, name="costs-review"),
    path("costs/periods/<int:pk>/close/", closing.close, name="costs-close"),
    path("costs/periods/<int:pk>/correct/", closing.correct, name="costs-correct"),
    path("costs/findings/<int:pk>/", board.finding, name="costs-finding"),
    path("costs/findings/<int:pk>/resolve/", board.resolve, name="costs-resolve"),
    path("costs/findings/<int:pk>/assign/", board.assign, name="costs-assign"),
    path("costs/tolerances/", tolerances.tolerances, name="costs-tolerances"),
    path("costs/books/", books.books, name="costs-books"),
    path("costs/books/new/", books.new, name="costs-book-new"),
    path("costs/books/<int:pk>/", books.book, name="costs-book"),
    path("costs/books/<int:pk>/draft/", books.draft, name="costs-draft"),
    path("costs/books/<int:pk>/policy/", books.policy_new, name="costs-policy-new"),
    path("costs/versions/<int:pk>/", books.version, name="costs-version"),
    path("costs/versions/<int:pk>/step/", books.version_step, name="costs-version-step"),
    path("costs/policies/<int:pk>/", books.policy, name="costs-policy"),
    path("costs/policies/<int:pk>/activate/", books.policy_activate, name="costs-policy-activate"),
    path("t/<slug:slug>/costs/", tenant.costs, name="tenant-costs"),
    path("t/<slug:slug>/costs.csv", tenant.costs_csv, name="tenant-costs-csv"),
    path("t/<slug:slug>/statements/<int:period>/", statement.statement, name="statement"),
    path(
        "t/<slug:slug>/statements/<int:period>.csv", statement.statement_csv, name="statement-csv"
    ),
    path("t/<slug:slug>/statements/<int:period>/dispute/", disputes.new, name="dispute-new"),
    path("t/<slug:slug>/disputes/<int:pk>/", disputes.dispute, name="dispute"),
    path("t/<slug:slug>/disputes/<int:pk>/answer/", disputes.answer, name="dispute-answer"),
    path("clusters/<slug:slug>/costs/", cluster.costs, name="cluster-costs"),
    path("clusters/<slug:slug>/metrics/", metrics.source, name="cluster-metrics"),
    path("clusters/<slug:slug>/metrics/test/", metrics.test, name="cluster-metrics-test"),
    path("clusters/<slug:slug>/metrics/remove/", metrics.remove, name="cluster-metrics-remove"),
    path("api/v1/", include("costs.api.addresses")),
]
