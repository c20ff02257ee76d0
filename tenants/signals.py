"""Signals that the intent side sends and does not listen to."""

from django.dispatch import Signal

# Sent after a transaction that left work for the effect side. Argument: cluster_id.
work_ready = Signal()

# Sent when a person may do less than before, or has left. Argument: user_id.
rights_changed = Signal()
