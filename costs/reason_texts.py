"""Words for bases and findings, for pages, files and refusals alike."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy

from costs.rates import Basis
from costs.states import Code

#: What hours are counted by.
BASES: Final = {
    Basis.COMMITTED: gettext_lazy("Committed"),
    Basis.BORROWED: gettext_lazy("Borrowed"),
    Basis.LENT_CREDIT: gettext_lazy("Lent out (credit)"),
    Basis.ADMITTED: gettext_lazy("Admitted"),
    Basis.RUNNING: gettext_lazy("Running"),
    Basis.USED: gettext_lazy("Used"),
    Basis.IDLE: gettext_lazy("Idle"),
}
#: What each finding is called.
NAMES: Final = {
    Code.HARVEST_GAP: gettext_lazy("No cluster data"),
    Code.INTERVAL_GAP: gettext_lazy("Held differs from Kueue"),
    Code.STUCK_OPEN: gettext_lazy("Ends not exactly known"),
    Code.OVER_CAPACITY: gettext_lazy("More than exists"),
    Code.OVERDRAFT: gettext_lazy("Held above quota"),
    Code.RUN_OVER_ADMIT: gettext_lazy("Running beyond admitted"),
    Code.ADMIT_NOT_RUNNING: gettext_lazy("Admitted, not running"),
    Code.UNMANAGED: gettext_lazy("Running without quota"),
    Code.UNATTRIBUTED: gettext_lazy("Unattributed"),
    Code.UNATTRIBUTED_USE: gettext_lazy("Used without a pod"),
    Code.USED_UNKNOWN: gettext_lazy("Use not known"),
    Code.SHARED_DEVICE: gettext_lazy("Shared device"),
    Code.MIG_MISMATCH: gettext_lazy("Other slice than asked"),
    Code.ORPHAN_NODE: gettext_lazy("Billed, not in the cluster"),
    Code.CLUSTER_NOT_BILLED: gettext_lazy("In the cluster, not billed"),
    Code.OVER_BILLED: gettext_lazy("Billed longer than seen"),
    Code.UNDER_BILLED: gettext_lazy("Seen longer than billed"),
    Code.UNTAGGED: gettext_lazy("No tag"),
    Code.MISTAGGED: gettext_lazy("Tag of another tenant"),
    Code.UNPRICED: gettext_lazy("No price"),
    Code.RATE_DRIFT: gettext_lazy("Bill differs from prices"),
    Code.CURRENCY_MISSING: gettext_lazy("No exchange rate"),
    Code.LATE_CORRECTION: gettext_lazy("Corrects an earlier month"),
    Code.DOUBLE_SPLIT: gettext_lazy("Split by the provider"),
    Code.FLAVOR_CONFLICT: gettext_lazy("Node of no one flavor"),
    Code.PROVISIONAL: gettext_lazy("Not final"),
    Code.MATCHED: gettext_lazy("Matches"),
    Code.WITHIN_TOLERANCE: gettext_lazy("Within tolerance"),
}
