"""Figures in text: what is looked for, the quick look for it, and the reading of a line."""
