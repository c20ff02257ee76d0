"""Rows of the reconciliation; each module is one part of it."""

from costs.models.bills import BillFile, BillLine, BillPart, BillProblem, BillSource
from costs.models.budgets import Budget
from costs.models.cases import Case
from costs.models.facts import PoolHour, Run, TenantHour
from costs.models.generated import GeneratedTime
from costs.models.matches import BilledHour, BillFinding, BillMatch, Matching, OpinionLine
from costs.models.metrics import GaugeHour, Harvest, MetricsSource, UsedHour
from costs.models.periods import Period, PeriodBill, Statement, StatementLine
from costs.models.prices import ExchangeRate, PolicyVersion, Price, PriceBook, PriceVersion
from costs.models.reconciling import Discrepancy, Dispute, PoolTolerance, Reconciliation
from costs.models.rollups import PoolDay, PoolMonth, TenantDay, TenantMonth

__all__ = [
    "BillFile",
    "BillFinding",
    "BillLine",
    "BillMatch",
    "BillPart",
    "BillProblem",
    "BillSource",
    "BilledHour",
    "Budget",
    "Case",
    "Discrepancy",
    "Dispute",
    "ExchangeRate",
    "GaugeHour",
    "GeneratedTime",
    "Harvest",
    "Matching",
    "MetricsSource",
    "OpinionLine",
    "Period",
    "PeriodBill",
    "PolicyVersion",
    "PoolDay",
    "PoolHour",
    "PoolMonth",
    "PoolTolerance",
    "Price",
    "PriceBook",
    "PriceVersion",
    "Reconciliation",
    "Run",
    "Statement",
    "StatementLine",
    "TenantDay",
    "TenantHour",
    "TenantMonth",
    "UsedHour",
]
