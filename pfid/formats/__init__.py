"""Text and file formats turned into domain objects, purely."""
