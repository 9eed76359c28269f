"""Replay buffer of EFFCOMP's supervised pass (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor


class ReplayBuffer:
    """Best action of each question so far, and the set of those not learned yet.

    Questions are numbers; actions have shape (m,).
    """

    def __init__(self) -> None:
        self._best: dict[int, tuple[Tensor, float]] = {}
        self._new: set[int] = set()

    def update(self, question: int, actions: Sequence[Tensor], rewards: Sequence[float]) -> None:
        """Store an action if its reward is positive and at least that of the stored one (Algorithm 2).

        The same action again does not count as new, so that it is not learned twice.
        """
        for action, reward in zip(actions, rewards, strict=True):
            stored = self._best.get(question)
            if reward <= 0 or (stored and reward < stored[1]):
                continue
            if stored is None or not bool((stored[0] == action).all()):
                self._new.add(question)
            self._best[question] = (action, reward)

    def take_new(self) -> list[tuple[int, Tensor]]:
        """Return questions and actions that were stored since the last call, in the order of the
        questions."""
        entries = [(question, self._best[question][0]) for question in sorted(self._new)]
        self._new.clear()
        return entries

    def state_dict(self) -> dict[str, Any]:
        return {"best": dict(self._best), "new": set(self._new)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._best, self._new = dict(state_dict["best"]), set(state_dict["new"])
