"""Checkpoints: a run that was stopped continues from the last one, and ends as if it had not been stopped.

A checkpoint holds the parts of the training that change (model, optimiser, scheduler, random generators), the
generators of the process, the time spent, and the position: a small dictionary that tells the program where
to continue. Entries of the history after the checkpoint are dropped: they are recorded again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from training.run import Run

NAME = "checkpoint.pt"


class Stateful(Protocol):
    """Modules, optimisers, schedulers and the like."""

    def state_dict(self) -> Any: ...
    def load_state_dict(self, state_dict: Any) -> Any: ...


Part = Stateful | random.Random | torch.Generator


def save_checkpoint(run: Run, parts: Mapping[str, Part], position: Mapping[str, Any]) -> None:
    """Replace the checkpoint of `run`."""
    content = {
        "parts": {name: _get_state(part) for name, part in parts.items()},
        "generators": {
            "python": random.getstate(),
            "numpy": np.random.get_state(),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all(),
        },
        "position": dict(position),
        "seconds": run.clock.seconds(),
        "history": len(run.history),
        "origins": run.origins,
    }
    save_whole(content, run.folder / NAME)


def resume(run: Run, parts: Mapping[str, Part]) -> dict[str, Any] | None:
    """Restore `run` and `parts` from the checkpoint, and return its position.

    Return None without a checkpoint; the run then starts from the beginning.
    """
    file = run.folder / NAME
    if not file.exists():
        run.cut_history(0)
        return None
    # It holds Python objects, and this program wrote it.
    content = torch.load(file, map_location="cpu", weights_only=False)
    for name, part in parts.items():
        _set_state(part, content["parts"][name])
    generators = content["generators"]
    random.setstate(generators["python"])
    np.random.set_state(generators["numpy"])
    torch.set_rng_state(generators["torch"])
    if torch.cuda.device_count() == len(generators["cuda"]):
        torch.cuda.set_rng_state_all(generators["cuda"])
    run.clock.seconds_before = content["seconds"]
    run.origins = content["origins"]
    run.cut_history(content["history"])
    return content["position"]


def remove_checkpoint(run: Run) -> None:
    """Remove the checkpoint, so that the same command trains from the beginning."""
    (run.folder / NAME).unlink(missing_ok=True)


def save_whole(content: Any, path: Path) -> None:
    """Save `content` with torch, as a whole file or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    torch.save(content, partial)
    partial.replace(path)


def _get_state(part: Part) -> Any:
    if isinstance(part, random.Random):
        return part.getstate()
    if isinstance(part, torch.Generator):
        return part.get_state()
    return part.state_dict()


def _set_state(part: Part, content: Any) -> None:
    if isinstance(part, random.Random):
        part.setstate(content)
    elif isinstance(part, torch.Generator):
        part.set_state(content)
    else:
        part.load_state_dict(content)
