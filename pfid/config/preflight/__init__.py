"""The spec of a project's pre-launch checks: what ``pfid preflight`` is told, with its defaults.

Paths are relative to the folder of the spec. What is left out is not checked, and said so.
"""
