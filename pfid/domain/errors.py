"""Every error pfid raises on purpose."""


class PfidError(Exception):
    """Root of pfid's errors; the message says what, where and what to do."""


def why(error: BaseException) -> str:
    """What an exception says; of the system's, without its number and the file it names again."""
    return getattr(error, "strerror", None) or str(error)


class ConfigError(PfidError):
    """The configuration cannot be used; ``problems`` holds every one found, not the first."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        """Join the problems, one a line."""
        super().__init__("\n".join(problems))
        self.problems = problems


class CheckDefinitionError(PfidError):
    """A check breaks the contract of ``pfid.spec`` and cannot be constructed."""


class PluginError(PfidError):
    """A plugin could not be loaded or returned something that is not a check."""


class PortError(PfidError):
    """A port could not be read: the evidence is missing, nothing is known."""


class PortNotSetUpError(PortError):
    """A check read a port that its world does not have (a control forgot to set it up)."""


class StateError(PfidError):
    """pfid's own state on disk cannot be read or written."""


class WireError(PfidError):
    """A message between pfid's processes is malformed."""


class LaunchError(PfidError):
    """``pfid run`` refuses or fails to start a run; nothing was lost."""


class ControlError(PfidError):
    """A daemon or engine could not be asked, or did not answer as the protocol says."""


class ProcessGoneError(PfidError):
    """The process asked about does not exist (any more)."""


class NameTakenError(LaunchError):
    """Somebody took a file name between looking and renaming; look again."""


class ExecError(LaunchError):
    """A command cannot be executed; ``exit_code`` is what a shell would say (126 or 127)."""

    def __init__(self, message: str, exit_code: int) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.exit_code = exit_code


class NoSuchError(PfidError):
    """What a command line names is not there, or is several: a mistake of usage."""
