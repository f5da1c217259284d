"""A new configuration: read beside the loop, put in force in it, whole or not at all."""

from collections.abc import Callable
from dataclasses import dataclass

from pfid.adapters.http_server import Securing
from pfid.bootstrap.gpus import GpuJoint, expected_gpus
from pfid.bootstrap.notifying import Notifying
from pfid.bootstrap.page_joint import PageJoint
from pfid.bootstrap.proving import Prepared
from pfid.config.load import ConfigFile
from pfid.config.model import Config
from pfid.daemon.core import Core
from pfid.daemon.ports import LogPort
from pfid.host.configured_checks import problems_of_watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloading:
    """What follows the configuration.

    Attributes:
        file: where it stands.
        certificates: makes what secures the page; raises ConfigError if it cannot.
        core: of the loop.
        page: None where there is none.
        gpus: are looked for again.
        notifying: tells people.
        aside: does what may wait without holding up the loop.
    """

    file: ConfigFile
    certificates: Callable[[Config], Securing | None]
    core: Core
    page: PageJoint | None
    gpus: GpuJoint
    notifying: Notifying
    aside: Callable[[Callable[[], None]], None]

    def prepare(self) -> Prepared:
        """Read it, with everything it names.

        Raises:
            ConfigError: with all that is wrong; the old one stays.
        """
        config = self.file.load(problems_of_watch)
        certificates = self.certificates(config)
        return Prepared(config=config, enter=lambda: self._enter(config, certificates))

    def _enter(self, config: Config, certificates: Securing | None) -> None:
        if self.page is not None:
            self.page.server.secure(certificates)
            self.page.page.bound(
                exported_runs_max=config.page.exported_runs_max,
                ended_run_linger_s=config.page.ended_run_linger_s,
            )
            self.core.metrics_url = self.page.server.url
        self.core.config = config
        self.core.gpus.configured = expected_gpus(config)
        self.gpus.try_again()
        # Another notifier is started after the one before has ended, which may take seconds.
        self.aside(lambda: self.notifying.follow(config))


def certificates(config: Config, log: LogPort, *, embedded: bool) -> Securing | None:
    """TLS for the box's page; OpenSSL is loaded only where somebody wants it.

    Raises:
        ConfigError: if the files cannot be used.
    """
    if embedded or not config.tls_server_config.cert_file:
        return None
    from pfid.adapters.http_server.tls import Certificates

    def refused(problem: str) -> None:
        log.say("error", "certificates refused, the old ones stay", problem=problem)

    return Certificates(config.tls_server_config, say=refused)
