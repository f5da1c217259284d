"""Finding plugins, collecting checks, and deciding which of them may be believed."""
