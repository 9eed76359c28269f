"""`python -m benchmarks.agent --data DATA`: does the trained agent keep to its turns, and is it right?

Questions of HotpotQA, each with its ten paragraphs to search in. Five systems, all with one base model,
greedy and in strict mode, so that every turn is what the model wrote and the first reply that is not a turn
ends the task:

- the agent: under a grammar, as `load_agent` runs it;
- the agent, free: without the grammar, on the first 20 tasks;
- base: the model without the adapter, with the same prompt and tools;
- base, grammar: the same under the grammar;
- ReAct, base: the base model with the whole transcript, and searches that show whole passages.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.rows import Line, Lines, group_lines
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
"""Number of tokens that the base model reads at most."""
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
    lines: list[Line] = []
    for name, start in systems.items():
        asked = examples[: count_tasks(name, options)]
        if asked:
            lines += [make_line(name, e, start(make_index(e)).run(e.question)) for e in track(asked, name)]
    artifact = load_artifact(options.agent, kind="agent")
    agent = f"{artifact.name}@{artifact.hash_of('adapter.gguf', 'config.json')}"  # not of its card
    settings = {"agent": agent, "base": artifact.config["base_model"], "most turns": MAX_TURNS}
    return Measured(make_tables(lines), compressor.model, settings, lines)


def count_tasks(system: str, options: Options) -> int | None:
    """Return the number of tasks, from the first one on, that a system gets; None for all."""
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
            ours.input_tokens,
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


def make_line(system: str, example: Example, state: EpisodeState) -> Line:
    """Return the counts of a system's episode."""
    turns = count_turns(state)
    return {
        "system": system,
        "id": example.id,
        "replies": turns.replies,
        "well-formed": turns.well_formed,
        "levels": list(turns.levels),
        "inside": turns.inside,
        "answered": int(state.outcome == "answered"),
        "right": int(is_correct(state.answer, example.answers)),
        "F1": round(token_f1(state.answer, example.answers), 4),
        "tokens in": sum(turn.tokens_in for turn in state.trace),
        "tokens out": sum(turn.tokens_out for turn in state.trace),
        "seconds": round(sum(turn.seconds for turn in state.trace), 3),
    }


def make_tables(lines: Lines) -> list[Table]:
    """Return the table, from the lines of all episodes."""
    systems = group_lines(lines, "system")
    rows = tuple(_make_row(system, own) for system, own in systems.items())
    return [Table("Tasks", COLUMNS, rows)]


def _make_row(system: str, lines: Lines) -> Row:
    """Return the row of a system. ReAct's replies have no form to break."""

    def count(name: str) -> int:
        return sum(line[name] for line in lines)

    replies, tasks = count("replies"), len(lines)
    levels = Counter(level for line in lines for level in line["levels"])
    return {
        "system": system,
        "tasks": tasks,
        "well-formed": None if system == REACT else _share(count("well-formed"), replies),
        "inside": _share(count("inside"), levels.total()),
        "answered": _share(count("answered"), tasks),
        "right": _share(count("right"), tasks),
        "F1": tuple(line["F1"] for line in lines),
        "turns": replies / tasks,
        "tokens in": count("tokens in") / tasks,
        "tokens out": count("tokens out") / tasks,
        "seconds": fmean(line["seconds"] for line in lines),
        "levels": ", ".join(f"{number} of level {level}" for level, number in sorted(levels.items())) or None,
    }


def _share(count: int, total: int) -> Estimate | None:
    return estimate_share(count, total).round() if total else None


if __name__ == "__main__":
    sys.exit(main())
