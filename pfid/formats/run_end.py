"""How a run ended, in clauses and figures that everybody may see."""

from pfid.domain.run import RunEnd

Figures = dict[str, tuple[float | None, str]]


def clauses(end: RunEnd | None) -> tuple[str, str]:
    """Say which other process died first, and whether GPU memory is still held; "" where not."""
    if end is None:
        return "", ""
    held = "its GPU memory is still held" if end.memory_held else ""
    first = end.first_death
    if first is None or first.is_root:
        return "", held
    if first.signal is not None:
        how = f"signal {first.signal}"
    else:
        status = "unknown" if first.exit_code is None else str(first.exit_code)
        how = f"exit status {status}"
    return f"{first.comm} (pid {first.pid}) of its tree died first: {how}", held


def figures(end: RunEnd | None) -> Figures:
    """Exit statuses by name, (value, unit); None where not known."""
    first = end.first_death if end else None
    return {
        "exit_code": (end.exit_code if end else None, "1"),
        "signal": (end.signal if end else None, "1"),
        "first_death_pid": (first.pid if first else None, "1"),
        "first_death_exit_code": (first.exit_code if first else None, "1"),
        "first_death_signal": (first.signal if first else None, "1"),
    }
