"""One file per library and port; the only place where the outside world is touched."""
