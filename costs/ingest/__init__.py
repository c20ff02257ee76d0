"""Reads what other systems write about costs; knows their formats and no database."""
