"""`python -m training.agent.export --run RUN --out models/tersely-agent`: package an agent's adapter.

It gets the same files and the same checks as a summarizer (`training.summarizer.export`). `--practised RUN2`
packages the adapter of a run of `training.rl.agent` that started from RUN.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tersely_agents.agent.trained import describe_prompts
from training.agent.card import render_card
from training.agent.examples import hold_out, read_lessons
from training.agent.settings import Settings
from training.agent.teacher import LONGEST
from training.run import read_runs
from training.settings import read_settings
from training.summarizer.examples import Lesson
from training.summarizer.export import make_parser, read_arguments, write_artifact
from training.summarizer.package import Base

MAX_TOKENS = 512
"""Number of tokens of a turn with a summary of `LONGEST` characters. The longest training turn has 380
tokens, but the grammar lets a model write more."""
_TOKEN_CHARACTERS = 3
"""Low estimate of the characters in a token."""
_PROMPT_TOKENS = 1024
"""Number of tokens of a prompt for its instructions, tools and question."""
REPLIES = 3
"""Number of turns that the parity check compares."""


def export_agent(
    run: Path, config: Path, target: Path, command: str, base: Base, practised: Path | None = None
) -> dict[str, float]:
    """Write the artifact of a finished run to `target`, and return how well llama.cpp and transformers agree.

    practised: folder of a finished run of `training.rl.agent` that started from `run`. Its adapter is
        written.

    Raises RuntimeError, and writes nothing to `target`, if they disagree.
    """
    runs = [turns for turns in read_lessons(run / "lessons.jsonl") if turns]
    settings = read_settings(Settings, config)
    facts = {
        "training_command": command,
        "data": dict(Counter(lesson.source for turns in runs for lesson in turns)),
        "questions": len(runs),
        "levels": dict(sorted(Counter(read_level(lesson) for turns in runs for lesson in turns[1:]).items())),
        "search_tokens": settings.data.search_tokens,
        "practice": read_runs(practised / "final")[-1] if practised else None,
    }
    longer = max(0, settings.data.summary_characters - LONGEST)
    max_tokens = MAX_TOKENS + longer // _TOKEN_CHARACTERS
    values = {
        "kind": "agent",
        "prompts": describe_prompts(),
        "search_tokens": settings.data.search_tokens,
        "max_tokens": max_tokens,
        "context": count_context(settings.data.search_tokens, max_tokens),
    }
    heldout = hold_out(runs, settings.training.heldout)[:REPLIES]
    trained = practised / "final" if practised else None
    return write_artifact(run, target, settings.adapter, values, facts, heldout, render_card, base, trained)


def count_context(search_tokens: int, max_tokens: int) -> int:
    """Return the largest number of tokens of a prompt with its reply: a prompt shows the last
    summary, and a page of twice as many tokens as a search."""
    return _PROMPT_TOKENS + 2 * search_tokens + 2 * max_tokens


def read_level(lesson: Lesson) -> int:
    """Return the level of a turn's summary."""
    return int(lesson.summary.partition("<summary_level>")[2][0])


def main() -> None:
    parser = make_parser("training.agent", __doc__, "training/configs/agent_smollm2.toml")
    parser.add_argument("--practised", type=Path, help="folder of a run of training.rl.agent")
    args = read_arguments("training.agent", parser)
    print(json.dumps(export_agent(args.run, args.config, args.out, args.command, args.base, args.practised)))


if __name__ == "__main__":
    main()
