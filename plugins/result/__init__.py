"""Checks over the records of an evaluation."""
