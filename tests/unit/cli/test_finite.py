"""No option takes a number that is none: limits compare with nan as if it were inside them."""

import click
import pytest
from click.testing import CliRunner

from pfid.cli.entry import main
from pfid.cli.finite import FiniteRange, WholeRange


def commands(group, ctx, path=()):
    for name in group.list_commands(ctx):
        found = group.get_command(ctx, name)
        yield (*path, name), found
        if isinstance(found, click.Group):
            yield from commands(found, ctx, (*path, name))


def numbers(kind):
    ctx = click.Context(main)
    return [
        (*path, option.name)
        for path, command in commands(main, ctx)
        for option in command.params
        if isinstance(option.type, kind)
    ]


def test_every_number_of_every_command_is_finite():
    assert numbers((type(click.FLOAT), click.FloatRange)) == numbers(FiniteRange)
    assert ("probe", "fit", "observed") in numbers(FiniteRange)


@pytest.mark.parametrize("number", ["nan", "NaN", "inf", "-inf", "1e999"])
def test_what_is_no_number_is_a_usage_error(number):
    asked = ["probe", "fit", "--points", "1:1,2:2,4:4", "--observed", number]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 2
    assert "--observed" in done.output


def test_every_whole_number_of_every_command_is_called_one():
    """ "abc" was "not a valid integer range"."""
    assert numbers(click.IntRange) == numbers(WholeRange)
    for asked, kind in (
        (["attach", "abc"], "whole number"),
        (["probe", "fit", "--points", "1:1", "--observed", "abc"], "number"),
    ):
        done = CliRunner().invoke(main, asked)
        assert done.exit_code == 2
        assert f"'abc' is not a valid {kind}." in done.output
