"""The configuration file: its model, its defaults and how it is read."""
