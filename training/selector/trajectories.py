"""The best-trajectory memory of EFFCOMP, Algorithm 2."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


class BestTrajectories:
    """The best action found for each state, and whether it still has to be learned.

    States are numbers; actions have shape (m,).
    """

    def __init__(self) -> None:
        self._best: dict[int, tuple[Tensor, float]] = {}
        self._fresh: set[int] = set()

    def update(self, state: int, actions: Sequence[Tensor], rewards: Sequence[float]) -> None:
        """Algorithm 2: an action is stored when its reward is positive and at least that of the stored one.

        The same action again is no new trajectory: it would only be learned twice.
        """
        for action, reward in zip(actions, rewards, strict=True):
            known = self._best.get(state)
            if reward <= 0 or (known and reward < known[1]):
                continue
            if known is None or not bool((known[0] == action).all()):
                self._fresh.add(state)
            self._best[state] = (action, reward)

    def take_fresh(self) -> list[tuple[int, Tensor]]:
        """States and actions that were stored since they were last taken, in the order of their states."""
        taken = [(state, self._best[state][0]) for state in sorted(self._fresh)]
        self._fresh.clear()
        return taken

    def state(self) -> tuple[dict[int, tuple[Tensor, float]], set[int]]:
        """For a checkpoint."""
        return dict(self._best), set(self._fresh)

    def restore(self, state: tuple[dict[int, tuple[Tensor, float]], set[int]]) -> None:
        self._best, self._fresh = dict(state[0]), set(state[1])
