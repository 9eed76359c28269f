"""`python -m benchmarks.agent --data DATA`: does the trained agent keep to its turns, and is it right?

Questions of HotpotQA, each with its ten paragraphs to search in. Five systems, all with one base model,
greedy and in strict mode, so that every turn is what the model wrote and the first reply that is not a turn
ends the task:

- the agent: under a grammar, as `load_agent` runs it;
- the agent, free: without the grammar, on the first 20 tasks;
- base: the model without the adapter, with the same prompt and tools;
- base, grammar: the same under the grammar;
- ReAct, base: the base model with the whole transcript, whose searches show whole passages.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.shared.episodes import count_turns, make_index
from benchmarks.shared.statistics import Estimate, estimate_share
from benchmarks.shared.tasks import Example, load_findable
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.metrics import is_correct, token_f1
from tersely.runtime.artifacts import load_artifact
from tersely_agents.agent import Agent, DocumentIndex, EpisodeState, search_tools
from tersely_agents.agent.trained import BUNDLED, load_trained, make_agent
from tersely_agents.chat import ChatModel, LocalChat

OURS, FREE = "agent", "agent, free"
BASE, CONSTRAINED_BASE = "base", "base, grammar"
REACT = "ReAct, base"
MAX_TURNS = 6
FREE_TASKS = 20
"""Tasks without the grammar: enough to see whether the model keeps the form by itself."""
_CONTEXT = 8192
"""Tokens that the base model reads at most."""
COLUMNS = (
    Column("system"),
    Column("tasks"),
    Column("well-formed", "%", interval="wilson"),
    Column("inside", "%", interval="wilson"),
    Column("answered", "%", interval="wilson"),
    Column("right", "%", interval="wilson"),
    Column("F1", "%", interval="bootstrap"),
    Column("turns", format=".1f"),
    Column("tokens in", format=",.0f"),
    Column("tokens out", format=",.0f"),
    Column("seconds", format=".0f"),
    Column("levels"),
)
"""Well-formed: replies that are turns. Inside: summaries that have the length of their level. Right: answers
that contain the right one. Turns, tokens and seconds are means of a task; levels count the summaries."""

Start = Callable[[DocumentIndex], Agent]


class Options(command.Options):
    """The options of the command."""

    others: int | None
    agent: str
    base: Path | None


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.agent", __doc__, "data", "threads", limit=200)
    parser.add_argument(
        "--others", type=int, help="tasks of the base model, the first ones; 0 for none (default: all)"
    )
    parser.add_argument("--agent", default=BUNDLED, help=f"artifact of the agent (default: {BUNDLED})")
    parser.add_argument("--base", type=Path, help="GGUF file of its base model (default: SmolLM2-135M)")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Run the tasks, system by system."""
    examples = load_findable("hotpotqa", "eval", data=options.data, seed=options.seed, limit=options.limit)
    compressor = Compressor(threads=options.threads)
    systems = make_systems(compressor, options)
    rows: list[Row] = []
    for name, start in systems.items():
        asked = examples[: count_tasks(name, options)]
        if not asked:
            continue
        episodes = [(e, start(make_index(e)).run(e.question)) for e in track(asked, name)]
        rows.append(make_row(name, episodes))
    artifact = load_artifact(options.agent, kind="agent")
    agent = f"{artifact.name}@{artifact.hash_of('adapter.gguf', 'config.json')}"  # not of its card
    settings = {"agent": agent, "base": artifact.config["base_model"], "most turns": MAX_TURNS}
    return Measured([Table("Tasks", COLUMNS, tuple(rows))], compressor.model, settings)


def count_tasks(system: str, options: Options) -> int | None:
    """Return how many of the tasks a system gets, the first ones; None for all."""
    return {OURS: None, FREE: FREE_TASKS}.get(system, options.others)


def make_systems(compressor: Compressor, options: Options) -> dict[str, Start]:
    """Return, for each system, the function that makes its agent for the documents of a task."""
    threads = options.threads
    ours = load_trained(options.agent, options.base, threads)
    base = LocalChat(
        options.base,
        context=_CONTEXT,
        threads=threads,
        timeout_s=600,
        temperature=0.0,
        max_tokens=ours.max_tokens,
    )

    def turns(chat: ChatModel, *, constrained: bool) -> Start:
        return lambda index: make_agent(
            chat,
            index,
            compressor,
            ours.search_tokens,
            strict=True,
            constrained=constrained,
            max_turns=MAX_TURNS,
        )

    def transcript(index: DocumentIndex) -> Agent:
        return Agent(
            base,
            search_tools(index),
            strategy="transcript",
            strict=True,
            compressor=compressor,
            max_turns=MAX_TURNS,
        )

    return {
        OURS: turns(ours.chat, constrained=True),
        FREE: turns(ours.chat, constrained=False),
        BASE: turns(base, constrained=False),
        CONSTRAINED_BASE: turns(base, constrained=True),
        REACT: transcript,
    }


def make_row(system: str, episodes: Sequence[tuple[Example, EpisodeState]]) -> Row:
    """Return the row of a system from its episodes. ReAct's replies have no form to break."""
    states = [state for _, state in episodes]
    turns = [count_turns(state) for state in states]
    replies, summaries = sum(t.replies for t in turns), sum(t.summaries for t in turns)
    levels = Counter(level for t in turns for level in t.levels)
    right = sum(is_correct(state.answer, example.answers) for example, state in episodes)
    return {
        "system": system,
        "tasks": len(episodes),
        "well-formed": None if system == REACT else _share(sum(t.well_formed for t in turns), replies),
        "inside": _share(sum(t.inside for t in turns), summaries),
        "answered": _share(sum(state.outcome == "answered" for state in states), len(states)),
        "right": _share(right, len(states)),
        "F1": tuple(round(token_f1(state.answer, example.answers), 4) for example, state in episodes),
        "turns": replies / len(states),
        "tokens in": fmean(sum(turn.tokens_in for turn in state.trace) for state in states),
        "tokens out": fmean(sum(turn.tokens_out for turn in state.trace) for state in states),
        "seconds": fmean(sum(turn.seconds for turn in state.trace) for state in states),
        "levels": ", ".join(f"{count} of level {level}" for level, count in sorted(levels.items())) or None,
    }


def _share(count: int, total: int) -> Estimate | None:
    return estimate_share(count, total).round() if total else None


if __name__ == "__main__":
    sys.exit(main())
