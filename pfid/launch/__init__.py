"""What ``pfid run`` does: guard, identity, rotate, spawn, record, watch, wait."""
