"""Answers of a model as text: what of them is visible, whose words they are, how they stand."""
