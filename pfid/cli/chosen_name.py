"""``--name NAME``: what a run may be called, refused with its reason before anything is done."""

import click


def chosen_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Accept a run's name, or none.

    Raises:
        click.BadParameter: if no run can be called so.
    """
    from pfid.policy.run_name import name_fault

    fault = "" if value is None else name_fault(value)
    if fault:
        raise click.BadParameter(fault)
    return value
