"""Joins the pre-launch checks to a project: one file a subject, each gathers its facts once."""
