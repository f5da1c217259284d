"""Scripts run by the training interpreter; JSON lines on stdout, Python 3.9 syntax."""
