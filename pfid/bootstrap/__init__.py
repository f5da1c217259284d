"""The one place that joins adapters to the daemon, the launcher and the self-test."""
