"""What pfid installs only where it is wanted, and how it is had."""


def how_to_install(extra: str) -> str:
    """Say it in words; from the checkout or its wheel, pfid is in no package index."""
    return f"pip install '.[{extra}]' in pfid's checkout"
