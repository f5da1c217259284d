"""What a Prometheus server needs to know to scrape pfid, on one box or on many."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pfid.config.address import Address, parse_address

INTERVAL: Final = "15s"
SAMPLES_OF_BOX: Final = 5_000
"""GPUs, checks, gates and pfid itself come to some hundred samples."""
SAMPLES_A_RUN: Final = 200
"""A run comes to 60, and to 90 when no check can look at it; plugins' checks are three each."""


_EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound


def own_target(listen: Sequence[str]) -> str | None:
    """Where a page that listens there is scraped from its own box; None where nobody can say.

    One address alone: a page that is scraped at two is two boxes to every rule. A free port
    (0) is known to the kernel only.
    """
    for address in map(parse_address, listen):
        if address.port:
            return str(Address(_EVERY_ADDRESS.get(address.host, address.host), address.port))
    return None


def samples_max(runs: int) -> int:
    """What a page with so many runs may have: twice what it has at its worst; beyond is a fault."""
    return SAMPLES_OF_BOX + SAMPLES_A_RUN * runs


def scrape_data(
    job: str,
    targets: Sequence[str],
    runs: int,
    targets_file: str = "",
    tls: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One scrape job.

    Args:
        job: its name.
        targets: as HOST:PORT.
        runs: that stand on one page at most (``page.exported_runs_max``).
        targets_file: where targets are read from instead.
        tls: Prometheus's ``tls_config``, where the pages are served over TLS; None for plain HTTP.
    """
    secure: dict[str, Any] = {} if tls is None else {"scheme": "https"}
    if tls:
        secure["tls_config"] = dict(tls)
    where: dict[str, Any] = (
        {"file_sd_configs": [{"files": [targets_file]}]}
        if targets_file
        else {"static_configs": [{"targets": list(targets)}]}
    )
    return {
        "scrape_configs": [
            {
                "job_name": job,
                "scrape_interval": INTERVAL,
                "scrape_timeout": "10s",
                "sample_limit": samples_max(runs),
                **secure,
                **where,
            }
        ]
    }


def file_sd(targets: Sequence[str], labels: dict[str, str]) -> list[dict[str, Any]]:
    """Targets as Prometheus reads them from a file."""
    return [{"targets": list(targets), "labels": labels}]
