"""Checks that run once before a launch."""
