"""Profiler traces: Chrome/Kineto JSON in chunks of bytes, and ``key_averages`` tables."""
