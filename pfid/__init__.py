"""The watchdog that tells the truth about training runs on shared GPU boxes."""

__version__ = "0.1.0"
