"""The SDK's agent as an agent loop of verl."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register

from training.rl.episode import Task
from training.rl.recipes import Questions, Recipe, load_environment
from training.rl.rollout import Generation, Recorder
from training.rl.trajectory import Trajectory
from training.rl.verl.outputs import to_outputs
from training.settings import read_settings

VERSIONS = ("min_global_steps", "max_global_steps")
"""Names of the oldest and the newest policy that wrote a rollout, by its step: verl's metrics need both."""
Generate = Callable[[Sequence[int]], Awaitable[Generation | None]]
"""A function that returns the policy's reply to a context, or None if its server fails."""


@register("tersely")
class TerselyLoop(AgentLoopBase):
    """An agent loop that runs one question of a recipe. `trainer.tersely_recipe` in verl's configuration is
    the recipe's file; `extra_info.index` in a row of the data set is the index of the question."""

    loaded: ClassVar[dict[str, Questions]] = {}
    """Questions by the file of the recipe, because verl makes a loop for each rollout."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        file = str(self.config.trainer.tersely_recipe)
        self.recipe: Recipe = read_settings(Recipe, Path(file))
        if file not in self.loaded:
            self.loaded[file] = load_environment(self.recipe, self.tokenizer)
        self.environment = self.loaded[file]

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> list[AgentLoopOutput]:
        """Return an output for each segment; none if the rollout is nobody's fault."""
        task = self.environment.pose(int(kwargs["extra_info"]["index"]))
        name = uuid4().hex  # one for all turns: they go to the server that has read the context
        versions = set[int]()
        own = {
            **sampling_params,
            "max_tokens": self.recipe.reply_tokens,
            "stop": list(self.recipe.stop_texts),
            "include_stop_str_in_output": True,
        }

        async def generate(context: Sequence[int]) -> Generation | None:
            output = await self.server_manager.generate(
                request_id=name, prompt_ids=list(context), sampling_params=own
            )
            if not output.token_ids or output.log_probs is None:
                return None
            versions.update(int(output.extra_fields[bound]) for bound in VERSIONS)
            return Generation(output.token_ids, output.log_probs)

        trajectory = await run_episode(task, generate)
        if self.recipe.extractor:
            messages = self.environment.environment.chat.read_messages(trajectory)
            trajectory = replace(trajectory, facts={**trajectory.facts, "messages": messages})
        outputs = to_outputs(trajectory)
        for output in outputs:
            output["extra_fields"] |= dict(zip(VERSIONS, (min(versions), max(versions)), strict=True))
        return [AgentLoopOutput(**output) for output in outputs]


async def run_episode(task: Task, generate: Generate) -> Trajectory:
    """Run one episode like `rollout.run_episodes`, among many in an event loop. Tools run in threads."""
    episode, recorder = await asyncio.to_thread(task.start), Recorder()
    while episode.outcome is None:
        context = episode.context()
        generation = await generate(context)
        if generation is None:
            break
        recorder.read(context)
        quality = await asyncio.to_thread(episode.step, generation.tokens)
        recorder.write(generation, quality)
        if episode.dropped_turn:
            recorder.drop_turn()
    outcome = episode.outcome or "server"
    return Trajectory(task.id, recorder.finish(), episode.reward, outcome, facts=dict(episode.facts))
