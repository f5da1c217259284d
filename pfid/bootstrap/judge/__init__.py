"""An evaluation judged: its records, its spec, and what must be looked up for them."""
