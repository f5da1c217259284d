"""Model configurations as they lie beside weights, read by their fields and never by a name."""
