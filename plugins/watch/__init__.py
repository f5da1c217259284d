"""Checks the daemon runs on a cadence while a run lives."""
