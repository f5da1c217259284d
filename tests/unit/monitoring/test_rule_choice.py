"""Which alerts a box gets: those of every box, less what is left out, and what was asked for."""

import pytest
from click.testing import CliRunner

from pfid.cli.monitoring import command
from pfid.monitoring.rule import alerts
from pfid.monitoring.rule_file import Choice, RuleChoiceError, rule_groups
from pfid.monitoring.series_rules import ALWAYS, IF_ASKED


def names(**choice):
    chosen = Choice(**{k: frozenset(v) for k, v in choice.items()})
    return {alert.name for alert in alerts(rule_groups((), choice=chosen))}


def test_what_does_not_suit_every_box_comes_only_when_asked_for():
    asked = {alert.name for alert in IF_ASKED}
    assert not names() & asked
    assert names(more=asked) == names() | asked


def test_an_alert_can_be_left_out_and_nothing_goes_with_it():
    for alert in ALWAYS:
        assert names() - names(fewer={alert.name}) == {alert.name}


def test_an_alert_that_was_asked_for_can_be_left_out_as_well():
    (first, *_) = (alert.name for alert in IF_ASKED)
    assert names(more={first}, fewer={first}) == names()


@pytest.mark.parametrize("name", ["Watchdog", "PfidDown", "PfidGateUnproven"])
def test_the_dead_mans_group_stays_whole(name):
    with pytest.raises(RuleChoiceError, match=f"{name}: the dead man's group stays"):
        names(fewer={name})


def test_a_name_that_is_none_is_refused_and_says_which_there_are():
    with pytest.raises(
        RuleChoiceError, match="PfidNone: to be asked for are PfidGpuTemperatureHigh"
    ):
        names(more={"PfidNone"})
    with pytest.raises(RuleChoiceError, match="PfidNone: there is no such alert"):
        names(fewer={"PfidNone"})


@pytest.mark.full
def test_the_command_takes_both_and_refuses_what_is_none():
    done = CliRunner().invoke(
        command,
        ["rules", "--with", "PfidGpuTemperatureHigh", "--without", "PfidRunGone"],
    )
    assert done.exit_code == 0
    assert '"PfidGpuTemperatureHigh"' in done.stdout
    assert '"PfidRunGone"' not in done.stdout
    assert '"PfidRunGoneUnknown"' in done.stdout
    refused = CliRunner().invoke(command, ["rules", "--without", "Watchdog"])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "stays as a whole" in refused.stderr
