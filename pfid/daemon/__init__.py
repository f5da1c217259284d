"""The loop: one inbox, one writer, one frozen snapshot for every reader."""
