"""An inference engine's source read as rules: what serves a model, and what adapters may do."""
