"""Records of evaluations out of what evaluation tools write: one file a format, pure."""
