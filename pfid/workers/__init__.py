"""Disposable processes for whatever may block, crash or be hostile."""
