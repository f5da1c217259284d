"""Pure numbers: percentiles, fits, distributions."""
