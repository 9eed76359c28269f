"""The errors of tersely.

    TerselyError
    ├── InvalidInputError      an argument or a document cannot be used (also a ValueError)
    ├── ArtifactError          a model is missing, damaged or of an unknown version
    ├── MissingDependencyError an optional package is not installed (also an ImportError)
    └── OfflineError           the network is needed while TERSELY_OFFLINE=1

Messages name the cause and then the remedy.
"""

from __future__ import annotations


class TerselyError(Exception):
    """Base class of every error in the package."""


class InvalidInputError(TerselyError, ValueError):
    """An argument or a document cannot be used. Nothing was compressed."""


class ArtifactError(TerselyError):
    """A model artifact is missing, damaged, or made for another version."""


class MissingDependencyError(TerselyError, ImportError):
    """An optional package is not installed. The message contains the command that installs it."""


class OfflineError(TerselyError):
    """The network is needed, but TERSELY_OFFLINE forbids it."""


def is_failure(error: BaseException) -> bool:
    """Return whether an error is an `Exception`, or a panic in Rust, which is only a `BaseException`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
