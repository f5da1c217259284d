"""Joins the viability checks to a base model: one file a subject, each looked at once."""
