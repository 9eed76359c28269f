"""Stop a training in the middle, as a killed process would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


class StopError(Exception):
    pass


def run_until(owner: Any, name: str, call: int, command: Callable[[], Any]) -> None:
    """Run `command` until the given call of `owner`'s function `name`."""
    function, calls = getattr(owner, name), 0

    def stop(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise StopError
        return function(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stop)
        with pytest.raises(StopError):
            command()
