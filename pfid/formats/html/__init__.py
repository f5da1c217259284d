"""HTML that is safe by construction, and small plots in it; no script, nothing from elsewhere."""
