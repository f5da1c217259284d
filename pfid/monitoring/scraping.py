"""What a Prometheus server needs to know to scrape pfid, on one box or on many."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

INTERVAL: Final = "15s"
SAMPLES_MAX: Final = 10_000
"""64 runs with all their checks come to about 4,000 samples; a page beyond this is a fault."""


def scrape_data(
    job: str,
    targets: Sequence[str],
    targets_file: str = "",
    tls: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One scrape job.

    Args:
        job: its name.
        targets: as HOST:PORT.
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
                "sample_limit": SAMPLES_MAX,
                **secure,
                **where,
            }
        ]
    }


def file_sd(targets: Sequence[str], labels: dict[str, str]) -> list[dict[str, Any]]:
    """Targets as Prometheus reads them from a file."""
    return [{"targets": list(targets), "labels": labels}]
