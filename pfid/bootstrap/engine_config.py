"""Can a run's own engine use the configuration it will find? Asked before anything is started.

Also where the box's daemon would watch: it may go, and then the engine is all there is.
"""

from collections.abc import Mapping

from pfid.config.paths import config_file


def refuse_unusable(environ: Mapping[str, str]) -> None:
    """Return if an engine in this environment would start; costs a look where no file is.

    Raises:
        ConfigError: with every problem of the file, each under its name.
    """
    path, named = config_file(environ, embedded=True), bool(environ.get("PFID_CONFIG"))
    try:
        if path is None or (not named and not path.exists()):
            return
    except OSError:
        pass  # something is there, and reading says why it cannot be used
    from pfid.config.load import load
    from pfid.host.configured_checks import problems_of_watch

    load(path, problems_of_watch)
