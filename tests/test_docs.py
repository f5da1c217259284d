"""What can be used is documented: commands, JSON shapes, configuration keys, metrics, in README."""

import re
from importlib import import_module
from pathlib import Path

import click
import msgspec
import pytest

from pfid.adapters.page.family import Spec
from pfid.cli.entry import COMMANDS
from pfid.config.load import loads
from pfid.config.model import CheckOptions, Config

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
GROUPS = ("checks", "collector", "gates", "gpus", "live", "own", "runs", "steps")


def section(title):
    """The text of one section of the README."""
    pattern = rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, README.read_text())
    assert found, f"README has no section {title!r}"
    return found[1]


def rows(title):
    """First cells of the rows of a section's tables, without their quotes."""
    return {
        line.split("|")[1].strip().strip("`")
        for line in section(title).splitlines()
        if line.startswith("| `")
    }


def commands(command=None, path="pfid"):
    """Every command that does something, by how it is called."""
    if command is None:
        found = {}
        for name in COMMANDS:
            module = import_module(f"pfid.cli.{name.replace('-', '_')}")
            found |= commands(module.command, f"{path} {name}")
        return found
    if isinstance(command, click.Group):
        context = click.Context(command)
        return {
            call: leaf
            for name in command.list_commands(context)
            for call, leaf in commands(command.get_command(context, name), f"{path} {name}").items()
        }
    return {path: command}


def metrics():
    modules = [import_module(f"pfid.adapters.page.{name}") for name in GROUPS]
    return {v.name: v for m in modules for v in vars(m).values() if isinstance(v, Spec)}


def config_keys():
    for table in msgspec.structs.fields(Config):
        kind = CheckOptions if table.name == "checks" else table.type
        for key in msgspec.structs.fields(kind):
            where = "checks.NAME" if table.name == "checks" else table.name
            yield f"{where}.{key.name}", key, kind()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_and_stands_in_the_readme(name):
    command = import_module(f"pfid.cli.{name.replace('-', '_')}").command
    assert command.get_short_help_str()
    assert any(row.split(" ")[:2] == ["pfid", name] for row in rows("Commands")), name


def test_every_option_has_help():
    silent = [
        f"{call} {option.opts[0]}"
        for call, command in commands().items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert not silent


def test_what_a_command_cannot_do_without_stands_in_the_readme_beside_it():
    lines = README.read_text().splitlines()
    missing = [
        f"{call} {option.opts[0]}"
        for call, leaf in commands().items()
        for option in leaf.params
        if isinstance(option, click.Option) and option.required
        for short in [call.removesuffix(" check")]
        if not any(short in line and option.opts[0] in line for line in lines)
    ]
    assert not missing


def test_every_json_has_its_shape_in_the_readme():
    speaking = {
        call
        for call, command in commands().items()
        if any("--json" in option.opts for option in command.params)
    }
    assert speaking <= rows("JSON shapes")


def test_the_readme_names_no_shape_of_a_command_that_is_not_there():
    calls = {row.removesuffix(" --follow") for row in rows("JSON shapes")}
    assert {call for call in calls if call.startswith("pfid ")} <= set(commands())


def test_every_configuration_key_stands_in_the_readme_with_its_default_and_purpose():
    text = section("Configuration")
    for path, key, defaults in config_keys():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{path}` |")]
        meta = next(m for m in key.type.__metadata__ if isinstance(m, msgspec.Meta))
        assert msgspec.json.encode(getattr(defaults, key.name)).decode() in row
        assert meta.description in row


def test_the_readme_names_no_key_that_is_not_there():
    assert rows("Configuration") == {path for path, _, _ in config_keys()}


def test_the_readmes_own_configuration_is_good():
    examples = re.findall(r"```toml\n(.*?)```", section("Configuration"), re.DOTALL)
    assert len(examples) == 2
    assert all(loads(example) != Config() for example in examples)


def test_every_metric_stands_in_the_readme_with_its_type_and_help():
    text = section("Metrics")
    for spec in metrics().values():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{spec.name}` |")]
        assert f"| {spec.kind} |" in row
        assert spec.documentation in row


def test_the_readme_names_no_metric_that_is_not_there():
    assert rows("Metrics") == set(metrics())


def test_every_module_of_the_page_is_looked_at():
    folder = Path(import_module("pfid.adapters.page").__file__).parent
    with_specs = {
        path.stem
        for path in folder.glob("*.py")
        if path.stem != "family" and " Spec(" in path.read_text()
    }
    assert with_specs == set(GROUPS)


def test_nothing_says_to_install_pfid_out_of_an_index_where_the_name_is_a_strangers():
    texts = [README, *(ROOT / "systemd").iterdir(), *ROOT.glob("*/README.md")]
    texts += [file for part in ("pfid", "plugins") for file in (ROOT / part).rglob("*.py")]
    told = re.compile(r"pip3? install[^\n`]*?[\s'\"]pfid\b(?!'s)|\bpfid\[")
    for said in ("/opt/bin/pip install -U pfid", "pip install 'pfid[report]'"):
        assert told.search(said)
    assert not [str(file) for file in texts if told.search(file.read_text())]


def test_each_row_of_the_readmes_sample_is_what_that_check_says():
    console = re.search(r"(?s)\$ pfid show mymodel\n(.*?)```", README.read_text())
    head, *rows = console[1].splitlines()
    starts = [head.index(name) for name in ("OUTCOME", "CHECK", "REASON", "FOR", "SUMMARY")]
    assert len(rows) > 4
    for row in rows:
        cells = [row[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        outcome, check, reason, _, summary = cells
        answers = import_module(f"pfid_plugins.watch.{check}").ANSWERS
        expected, sentence = answers.sentences[reason]
        assert (outcome, summary.split("; ")[0]) == (expected.name, sentence)
