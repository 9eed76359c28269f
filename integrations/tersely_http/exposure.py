"""Who may use a server: everybody on this machine, or whoever has the key."""

from __future__ import annotations

import os
from pathlib import Path

from tersely import InvalidInputError
from tersely.inputs import decode_utf8
from tersely.runtime.offline import is_loopback

KEY_VARIABLE = "TERSELY_API_KEY"


def read_key(file: str | None) -> str | None:
    """The key in the file, or in the environment; None where there is neither."""
    if file is not None:
        key = decode_utf8(Path(file).read_bytes(), file).strip()
        if not key:
            raise InvalidInputError(f"{file}: there is no key in it. Write one line.")
        return key
    return os.environ.get(KEY_VARIABLE) or None


def check_exposed(host: str, key: str | None) -> None:
    """Raises InvalidInputError where others could reach the server without a key."""
    if key is None and not is_loopback(host):
        raise InvalidInputError(
            f"{host} can be reached from other machines, so clients must send a key. Pass --key-file, or set "
            f"{KEY_VARIABLE}."
        )
