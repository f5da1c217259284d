"""What plugins bring of other vendors' samplers: where they lie, for a daemon or a command."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.config.load import ConfigFile
from pfid.config.model import Config
from pfid.config.paths import config_file
from pfid.domain.errors import ConfigError
from pfid.host.foreign import foreign_plugins
from pfid.host.plugins import PluginKind, PluginSource
from pfid.wire.gpu import PluginPlace

PLUGINS: Final = "plugins"
"""Label of the plugins' process as a whole; each sampler in it has a label of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerPlugins:
    """Plugins that may bring a sampler, and what their process may hold.

    Attributes:
        places: where they lie; nothing of them was loaded yet.
        memory_max_bytes: of the process.
    """

    places: tuple[PluginPlace, ...] = ()
    memory_max_bytes: int | None = None


def sampler_plugins(sources: Iterable[PluginSource], config: Config) -> SamplerPlugins:
    """Those of ``sources``, which are not pfid's own."""
    return SamplerPlugins(
        places=tuple(
            PluginPlace(name=s.name, place=s.place, is_file=s.kind is PluginKind.FILE)
            for s in sources
        ),
        memory_max_bytes=config.plugins.worker_memory_max_bytes,
    )


def installed_sampler_plugins(environ: Mapping[str, str]) -> SamplerPlugins:
    """Those that a daemon of this configuration would load; installed ones if it cannot be read."""
    return _configured(config_file(environ))


def own_sampler_plugins(environ: Mapping[str, str]) -> SamplerPlugins:
    """Those that an engine of this user would load."""
    return _configured(config_file(environ, embedded=True))


def _configured(path: Path | None) -> SamplerPlugins:
    try:
        config = ConfigFile(path=path).load()
    except ConfigError:
        config = Config()
    sources, _ = foreign_plugins(config.plugins.directories)
    return sampler_plugins(sources, config)
