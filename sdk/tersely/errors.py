"""Every error tersely raises on purpose.

    TerselyError
    ├── InvalidInputError      arguments or documents that cannot be compressed; also a ValueError
    ├── ArtifactError          a model folder that is missing, damaged or of an unknown version
    ├── MissingDependencyError an optional package that a chosen feature needs; also an ImportError
    └── OfflineError           a hub model was named while TERSELY_OFFLINE=1

Messages name the cause and then the remedy.
"""

from __future__ import annotations


class TerselyError(Exception):
    """Base class of every error in the package."""


class InvalidInputError(TerselyError, ValueError):
    """An argument or a document cannot be used; nothing was compressed."""


class ArtifactError(TerselyError):
    """A model artifact is missing, damaged, or made for another version."""


class MissingDependencyError(TerselyError, ImportError):
    """An optional dependency is absent; the message names the install command."""


class OfflineError(TerselyError):
    """The network was needed and is forbidden."""
