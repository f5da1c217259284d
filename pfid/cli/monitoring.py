"""``pfid monitoring``: what Prometheus, Alertmanager and Grafana need, made of the checks."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from pfid.cli.chosen_config import chosen_config
from pfid.cli.finite import WholeRange
from pfid.cli.output import Exit, error
from pfid.config.model import Config
from pfid.formats.untrusted import printable
from pfid.monitoring.alertmanager import alertmanager_data
from pfid.monitoring.dashboard import dashboard_text
from pfid.monitoring.rule_file import EVERY, JOB, Choice, RuleChoiceError, rule_groups, rules_data
from pfid.monitoring.scraping import file_sd, own_target, scrape_data
from pfid.monitoring.yaml_text import yaml_text

_LABEL: Final = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=(.*)\Z", re.DOTALL)
_JOB: Final = re.compile(r"[\w.:/@+ -]+\Z")
"""What neither PromQL nor a template nor YAML reads as something of its own."""
_TARGET: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})\Z")
_ESCAPED: Final = "%[0-9A-Fa-f]{2}"
_URL: Final = re.compile(
    rf"https?://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|{_ESCAPED})*@)?"
    r"(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::(?P<port>[0-9]{1,5}))?"
    rf"(?:[/?#](?:[^\s%\x00-\x1f\x7f\ud800-\udfff]|{_ESCAPED})*)?\Z"
)
"""What Alertmanager takes as one; a port that there is none of it would take as well."""


def _out(command: Callable[..., None]) -> Callable[..., None]:
    option = click.option(
        "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write there, not to stdout."
    )
    return option(command)


def _job(command: Callable[..., None]) -> Callable[..., None]:
    option = click.option(
        "--job",
        default=JOB,
        show_default=True,
        callback=_like(_JOB, "letters, digits, blanks and _ . : / @ + -"),
        help="Name of the scrape job.",
    )
    return option(command)


def _like(pattern: re.Pattern[str], wanted: str) -> Callable[..., str]:
    """Refuse an option that is something else: what is printed is to be taken as it is."""

    def look(_: click.Context, option: click.Parameter, value: str) -> str:
        if not pattern.match(value):
            raise click.BadParameter(f"{value!r} is not {wanted}", param=option)
        return value

    return look


def _url(_: click.Context, option: click.Parameter, value: str) -> str:
    if not _reachable(_URL.match(value)):
        wanted = "an http:// or https:// URL with a host, and a port of 1 to 65535 if any"
        raise click.BadParameter(f"{value!r} is not {wanted}", param=option)
    return value


def _reachable(found: re.Match[str] | None) -> bool:
    """Whether it was matched, and its port is one."""
    return found is not None and (found["port"] is None or 0 < int(found["port"]) < 65_536)


@click.group()
def command() -> None:
    """Print what Prometheus, Alertmanager and Grafana need, made of the checks."""


@command.command()
@_job
@click.option("--config", type=click.Path(path_type=Path), help="Configuration with the checks.")
@click.option(
    "--with",
    "more",
    multiple=True,
    metavar="ALERT",
    help=f"Print this one as well, which does not suit every box: {', '.join(sorted(EVERY.more))}.",
)
@click.option("--without", "fewer", multiple=True, metavar="ALERT", help="Leave this one out.")
@_out
@click.pass_context
def rules(
    ctx: click.Context,
    job: str,
    config: Path | None,
    more: Sequence[str],
    fewer: Sequence[str],
    out: Path | None,
) -> None:
    """Alerting and recording rules: two alerts a check, and those that no check brings.

    Exit codes: 0 printed, 2 usage, or --out cannot be written.
    """
    from pfid.bootstrap.monitoring import monitored

    choice = Choice(more=frozenset(more), fewer=frozenset(fewer))
    try:
        groups = rule_groups(monitored(chosen_config(config)), job, choice)
    except RuleChoiceError as problem:
        error(str(problem))
        ctx.exit(Exit.USAGE)
    _write(ctx, yaml_text(rules_data(groups)), out)


@command.command()
@_out
@click.pass_context
def dashboard(ctx: click.Context, out: Path | None) -> None:
    """The dashboard that Grafana imports.

    Exit codes: 0 printed, 2 usage, or --out cannot be written.
    """
    _write(ctx, dashboard_text(), out)


@command.command("scrape-config")
@click.argument("targets", nargs=-1, metavar="[HOST:PORT]...")
@_job
@click.option("--targets-file", default="", help="Read targets from this file (see sd) instead.")
@click.option(
    "--https/--http",
    default=None,
    help="Whether the pages are served over TLS, if not as the configuration here says.",
)
@click.option("--ca-file", help="Who signed the pages' certificates; implies --https.")
@click.option("--cert-file", help="Client certificate that is shown to the pages.")
@click.option("--key-file", help="Its key.")
@click.option(
    "--runs",
    type=WholeRange(1, 10_000),
    help="Runs on a page at most, if not page.exported_runs_max of the configuration here.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Configuration of the pages.")
@_out
@click.pass_context
def scrape_config(  # noqa: PLR0917 - click hands each option over as an argument
    ctx: click.Context,
    targets: Sequence[str],
    job: str,
    targets_file: str,
    https: bool | None,
    ca_file: str | None,
    cert_file: str | None,
    key_file: str | None,
    runs: int | None,
    config: Path | None,
    out: Path | None,
) -> None:
    """The scrape job; if no target is named this box alone, at the first address of page.listen.

    Its sample limit leaves room for as many runs as the configuration allows on the page, and it
    is over TLS where that has a certificate; for boxes that are configured otherwise, name the
    most runs that any of them allows with --runs, and --https or --http.

    Exit codes: 0 printed, 2 usage, no address to scrape, or --out cannot be written.
    """
    pages = chosen_config(config)
    chosen = _addresses(ctx, targets)
    if not chosen and not targets_file:
        chosen = [_own(ctx, pages)]
    if (cert_file is None) is not (key_file is None):
        error("a client certificate has a file and a key: give both")
        ctx.exit(Exit.USAGE)
    files = {"ca_file": ca_file, "cert_file": cert_file, "key_file": key_file}
    tls = {name: path for name, path in files.items() if path}
    if tls and https is False:
        error("certificates are for pages over TLS: leave --http or the files out")
        ctx.exit(Exit.USAGE)
    if https is None:
        https = bool(tls or pages.tls_server_config.cert_file)
    secure = tls if https else None
    most = runs or pages.page.exported_runs_max
    _write(ctx, yaml_text(scrape_data(job, chosen, most, targets_file, secure)), out)


@command.command()
@click.option(
    "--webhook",
    required=True,
    callback=_url,
    help="URL that is told of every alert.",
)
@click.option(
    "--dead-man",
    required=True,
    callback=_url,
    help="URL that notices when the Watchdog stops.",
)
@_out
@click.pass_context
def alertmanager(ctx: click.Context, webhook: str, dead_man: str, out: Path | None) -> None:
    """A configuration to start from: routes, and what silences what.

    Exit codes: 0 printed, 2 usage, or --out cannot be written.
    """
    _write(ctx, yaml_text(alertmanager_data(webhook, dead_man)), out)


@command.command()
@click.argument("targets", nargs=-1, required=True, metavar="HOST:PORT...")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="For all of them.")
@_out
@click.pass_context
def sd(ctx: click.Context, targets: Sequence[str], labels: Sequence[str], out: Path | None) -> None:
    """Targets of a fleet, in the form of file_sd.

    Exit codes: 0 printed, 2 usage, or --out cannot be written.
    """
    named = _labels(ctx, labels)
    _write(ctx, json.dumps(file_sd(_addresses(ctx, targets), named), indent=2) + "\n", out)


def _labels(ctx: click.Context, labels: Sequence[str]) -> dict[str, str]:
    from pfid.bootstrap.monitoring import page_labels

    named: dict[str, str] = {}
    for label in labels:
        found = _LABEL.match(label)
        if not found:
            error("a label is NAME=VALUE, its name letters, digits and _")
            ctx.exit(Exit.USAGE)
        if found[1].startswith("__"):
            error(f"{printable(found[1], 80)}: names with __ at their front are Prometheus's own")
            ctx.exit(Exit.USAGE)
        if found[1] in page_labels():
            error(f"{printable(found[1], 80)} is a label of pfid's own, which it would take away")
            ctx.exit(Exit.USAGE)
        if found[1] in named:
            error(f"{printable(found[1], 80)} is given twice: a label has one value")
            ctx.exit(Exit.USAGE)
        named[found[1]] = found[2]
    return named


def _own(ctx: click.Context, pages: Config) -> str:
    target = own_target(pages.page.listen)
    if target is None:
        error("page.listen names no address with a port of its own: name the HOST:PORT to scrape")
        ctx.exit(Exit.USAGE)
    return target


def _addresses(ctx: click.Context, targets: Sequence[str]) -> list[str]:
    for target in targets:
        if not _reachable(_TARGET.match(target)):
            error(f"{printable(target, 80)} is not HOST:PORT; an IPv6 address stands in brackets")
            ctx.exit(Exit.USAGE)
    return list(targets)


def _write(ctx: click.Context, text: str, out: Path | None) -> None:
    """To stdout, or whole into a file: a server that reads it meanwhile sees the old or the new."""
    if out is None:
        click.echo(text, nl=False)
        return
    beside = out.with_name(out.name + ".new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(out)
    except OSError as problem:
        error(f"{out}: cannot be written: {problem.strerror}")
        ctx.exit(Exit.USAGE)
