"""Conversion of a trajectory to the outputs of verl's agent loops, one for each segment."""

from __future__ import annotations

from typing import Any

from training.rl.trajectory import Trajectory


def to_outputs(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the arguments of an `AgentLoopOutput` for each segment. The prompt ends where the first turn
    begins. The trajectory's facts go with its last segment.

    A rollout whose server or environment failed has no outputs, which removes it from its group.
    """
    if trajectory.outcome in ("server", "environment"):
        return []
    outputs: list[dict[str, Any]] = []
    for segment in trajectory.segments:
        start, end = segment.turns[0].start, segment.turns[-1].end
        turns = [[turn.start - start, turn.end - start, turn.quality] for turn in segment.turns]
        outputs.append(
            {
                "prompt_ids": list(segment.tokens[:start]),
                "response_ids": list(segment.tokens[start:end]),
                "response_mask": [int(own) for own in segment.mask[start:end]],
                "response_logprobs": list(segment.logprobs[start:end]),
                "reward_score": trajectory.reward,
                "num_turns": len(turns),
                "metrics": {},
                "extra_fields": {
                    "turns": turns,
                    "outcome": trajectory.outcome,
                    "facts": dict(trajectory.facts) if segment is trajectory.segments[-1] else {},
                    "reward_extra_info": {},
                },
            }
        )
    return outputs
