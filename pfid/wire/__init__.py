"""Messages between pfid's processes: data and codec, no sockets."""
