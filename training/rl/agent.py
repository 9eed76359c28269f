"""`python -m training.rl.agent --config training/configs/agent_hrr_smollm2.toml --data DATA --adapter ADAPTER
--out RUN`: an agent that writes ZipRL's turns learns from its own rollouts.

It starts from an adapter of `training.agent` (a run's `final`) and trains it with
HRR through TRL. RUN/final gets the adapter, RUN/history.jsonl a line for each update, and one for each of the
evaluations on held-out training questions, before and after. A command that was stopped continues when it is
run again.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from benchmarks.shared.statistics import bootstrap_mean_difference
from benchmarks.shared.tasks import Example, load_findable
from tersely import Compressor
from training.rl.engines.updates import Practice, Updates, train_policy
from training.rl.environments.turns import TurnsEnvironment
from training.rl.episode import Task
from training.rl.language.chat import Chat
from training.rl.trajectory import Trajectory
from training.run import Entry, Run, read_runs, run_command
from training.settings import read_settings

_LIMIT = 100_000
"""A number of questions that is larger than any set."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Settings of the questions, and limits of the texts that the agent reads and writes."""

    names: tuple[str, ...] = ("hotpotqa",)
    """Sets of the benchmarks' train split whose questions have documents."""
    search_tokens: int = 200
    """Maximum number of tokens that a search shows, the same as in the cold start."""
    max_turns: int = 6
    max_reply: int = 512
    """Maximum number of tokens of a reply."""
    positions: int = 3072
    """Maximum number of tokens of a context with its reply."""


@dataclass(frozen=True, slots=True)
class Settings:
    seed: int = 0
    questions: Questions = field(default_factory=Questions)
    updates: Updates = field(default_factory=Updates)


def train(
    settings: Settings,
    examples: Sequence[Example],
    run: Run,
    policy: Any,
    tokenizer: Any,
    *,
    show: bool = False,
) -> None:
    """Train the adapter of `policy`. The first of the examples, in an order that depends on the seed, are
    held out for the evaluations. Raises ValueError if that leaves none to learn from."""
    asked, count = settings.questions, settings.updates.evaluation_tasks
    mixed = random.Random(settings.seed).sample(examples, len(examples))
    heldout, taught = mixed[:count], mixed[count:]
    if not taught:
        named = ", ".join(asked.names)
        raise ValueError(f"{named}: {count} questions are held out, and there are {len(examples)}")
    environment = TurnsEnvironment(
        Chat(tokenizer),
        Compressor(),
        search_tokens=asked.search_tokens,
        max_turns=asked.max_turns,
        max_reply=asked.max_reply,
        positions=asked.positions,
    )

    def make_task(key: str) -> Task:
        kind, _, number = key.rpartition(" ")
        return environment.make_task(heldout[int(number)] if kind else taught[int(number) % len(taught)])

    practice = Practice(make_task, asked.max_reply, describe)
    train_policy(policy, tokenizer, practice, settings.updates, run, seed=settings.seed, show=show)


def describe(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return the shares of well-formed replies, of summaries within their level, and of correct answers, the
    mean quality of the summaries, and each reward."""

    def add(name: str) -> int:
        return sum(trajectory.facts[name] for trajectory in trajectories)

    qualities = [turn.quality for t in trajectories for turn in t.turns if turn.quality is not None]
    return {
        "well_formed": add("well_formed") / max(1, add("replies")),
        "inside": add("inside") / max(1, add("summaries")),
        "correct": add("correct") / len(trajectories),
        "quality": fmean(qualities) if qualities else None,
        "rewards": [round(trajectory.reward, 4) for trajectory in trajectories],
    }


def describe_run(settings: Settings, before: Entry, after: Entry, examples: int) -> dict[str, Any]:
    """Return facts about a finished run for the model card, from its evaluations and its number of
    examples."""
    asked, updates = settings.questions, settings.updates
    drawn = after["update"] * updates.tasks
    return {
        "algorithm": updates.algorithm,
        "seed": settings.seed,
        "sets": asked.names,
        "updates": after["update"],
        "rollouts": drawn * updates.group,
        "questions": min(drawn, examples - updates.evaluation_tasks),
        "minutes": round(after["clock"] / 60),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "a CPU",
        "heldout": updates.evaluation_tasks,
        "reward": [before["reward"], after["reward"]],
        "correct": [before["correct"], after["correct"]],
    }


def compare(before: Entry, after: Entry) -> str:
    """Describe what the updates changed on held-out questions."""
    gain = bootstrap_mean_difference(after["rewards"], before["rewards"], seed=0)
    names = ("reward", "correct", "answered", "well_formed", "inside")
    rows = [f"{name:<12} {before[name]:.3f} -> {after[name]:.3f}" for name in names]
    return "\n".join(
        [
            f"{len(before['rewards'])} held-out questions, before and after {after['update']} updates:",
            *rows,
            f"reward by {gain.value:+.3f} (95 %: {gain.low:+.3f} to {gain.high:+.3f})",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.agent", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="data folder; TERSELY_DATA by default")
    parser.add_argument("--adapter", type=Path, required=True, help="folder of the adapter to start from")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--base", type=Path, help="folder of a causal model; SmolLM2-135M by default")
    parser.add_argument("--seed", type=int, help="instead of the configuration's")
    parser.add_argument("--max-minutes", type=float, help="end the run after this time")
    args = parser.parse_args()

    from peft import PeftModel

    from training.causal import load_causal  # takes seconds

    settings = read_settings(Settings, args.config, **({} if args.seed is None else {"seed": args.seed}))
    weights = (args.adapter / "adapter_model.safetensors").read_bytes()
    identity = {**asdict(settings), "adapter": hashlib.sha256(weights).hexdigest()}
    run = Run(args.out, max_minutes=args.max_minutes, identity=identity)
    examples = [
        example
        for name in settings.questions.names
        for example in load_findable(name, "train", data=args.data, limit=_LIMIT, seed=settings.seed)
    ]
    model, tokenizer = load_causal(args.base)
    policy = PeftModel.from_pretrained(model, args.adapter, is_trainable=True)
    train(settings, examples, run, policy, tokenizer, show=True)
    first, *later = (entry for entry in run.history if entry["kind"] == "evaluation")
    if not later:
        print("There was no time for an update.")
        return
    earlier = args.adapter / "runs.json"
    run.origins = read_runs(args.adapter) if earlier.exists() else []
    base = " --base BASE" if args.base else ""
    limit = "" if args.max_minutes is None else f" --max-minutes {args.max_minutes:g}"
    paths = f"--adapter RUN/final{base} --out RUN2{limit}"
    command = f"python -m training.rl.agent --config {args.config} --data DATA {paths}"
    run.finish({**describe_run(settings, first, later[-1], len(examples)), "command": command})
    print(compare(first, later[-1]))


if __name__ == "__main__":
    run_command(main)
