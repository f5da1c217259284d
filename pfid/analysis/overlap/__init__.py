"""The longest verbatim overlap of many short texts with one long stream, exact and in one pass."""
