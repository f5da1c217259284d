"""Checks that run once before a base model is chosen."""
