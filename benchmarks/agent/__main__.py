"""`python -m benchmarks.agent --data DATA`: does the trained agent keep to its turns, and what does it say?

Questions of HotpotQA, each with its ten paragraphs to search in. Five systems, all with SmolLM2-135M, greedy
and in strict mode, so that every turn is what the model wrote and the first one that is none ends the task:

- tersely-agent: as it ships, under a grammar;
- tersely-agent, free: without the grammar;
- base: the model without the adapter, with the same prompt and tools;
- base, grammar: the same under the grammar;
- ReAct: the base model with the whole transcript, whose searches show whole passages.

Prints a table, writes the JSON and fills RESULTS.md. With --rows FILE, which belongs outside the repository,
every row is kept as it comes, and the same command goes on after a stop.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.agent.report import BASE, CONSTRAINED_BASE, FREE, OURS, REACT, render
from benchmarks.agent.rows import AgentRun, TaskRow
from benchmarks.arguments import add_data, add_out, add_seed, add_threads, make_parser
from benchmarks.progress import Progress
from benchmarks.records import parse_record
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.episodes import count_turns, make_index
from benchmarks.shared.tasks import Example, load_findable
from tersely import Compressor
from tersely.metrics import is_correct, token_f1
from tersely.runtime.artifacts import load_artifact
from tersely_agents.agent import Agent, DocumentIndex, EpisodeState, search_tools
from tersely_agents.agent.trained import BUNDLED, load_trained, make_agent
from tersely_agents.chat import ChatModel, LocalChat

TASK = "hotpotqa"
MAX_TURNS = 6
_CONTEXT = 8192
"""Tokens, for the base model: as many as it was trained on."""

Start = Callable[[DocumentIndex], Agent]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    limit: int
    others: int | None
    rows: Path | None
    max_minutes: float | None
    threads: int | None
    seed: int
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.agent", __doc__)
    add_data(parser)
    parser.add_argument("--limit", type=int, default=200, help="tasks of tersely-agent")
    parser.add_argument(
        "--others", type=int, help="tasks of each other system, the first of them (default: all)"
    )
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep every row in FILE, and go on from it")
    parser.add_argument("--max-minutes", type=float, help="begin no task after this time")
    add_threads(parser)
    add_seed(parser)
    add_out(parser, "agent")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("agent", lambda: measure(options), render, options.out)


def measure(options: Options) -> AgentRun:
    """Run the tasks, system by system."""
    examples = load_findable(TASK, "eval", data=options.data, seed=options.seed, limit=options.limit)
    systems = make_systems(options.threads)
    work = [
        (name, example)
        for name in systems
        for example in (examples if name == OURS else examples[: options.others])
    ]
    artifact = load_artifact(BUNDLED, kind="agent")
    agent = f"{artifact.name}@{artifact.hash_of('adapter.gguf', 'config.json')}"  # not of its card
    kept = Rows(options.rows, agent)
    progress = Progress(len(work))
    rows: list[TaskRow] = []
    started = time.monotonic()
    for name, example in work:
        row = kept.find(name, example.id)
        if row is None:
            if options.max_minutes is not None and time.monotonic() - started > 60 * options.max_minutes:
                continue
            row = describe(name, example, systems[name](make_index(example)).run(example.question))
            kept.add(row)
        rows.append(row)
        progress.step(name)
    progress.close()
    return AgentRun(
        benchmark="agent",
        model=name_model(load_artifact(None)),
        agent=agent,
        seed=options.seed,
        max_turns=MAX_TURNS,
        environment=read_environment(),
        rows=tuple(rows),
    )


class Rows:
    """The rows of an agent in a file, a line each; of none where there is no file.

    Lines of other agents are passed over. `agent`: its name and fingerprint.
    """

    def __init__(self, file: Path | None, agent: str) -> None:
        self._file = file
        self._agent = agent
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None and file.exists() else []
        entries = [json.loads(line) for line in lines]
        rows = [parse_record(TaskRow, entry["row"]) for entry in entries if entry["agent"] == agent]
        self._rows = {(row.system, row.question): row for row in rows}

    def find(self, system: str, question: str) -> TaskRow | None:
        """The row of a task that was run before."""
        return self._rows.get((system, question))

    def add(self, row: TaskRow) -> None:
        """Keep a row."""
        if self._file is not None:
            with open(self._file, "a", encoding="utf-8") as stream:
                stream.write(json.dumps({"agent": self._agent, "row": asdict(row)}) + "\n")


def make_systems(threads: int | None) -> dict[str, Start]:
    """For each system, what makes its agent for the documents of a task."""
    compressor = Compressor(threads=threads)
    ours = load_trained(BUNDLED, None, threads)
    base = LocalChat(
        context=_CONTEXT, threads=threads, timeout_s=600, temperature=0.0, max_tokens=ours.max_tokens
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


def describe(system: str, example: Example, state: EpisodeState) -> TaskRow:
    """The row of an episode that has ended."""
    return TaskRow(
        question=example.id,
        system=system,
        outcome=state.outcome or "turns",
        **asdict(count_turns(state)),
        correct=is_correct(state.answer, example.answers),
        f1=round(token_f1(state.answer, example.answers), 4),
        tokens_in=sum(turn.tokens_in for turn in state.trace),
        tokens_out=sum(turn.tokens_out for turn in state.trace),
        seconds=round(sum(turn.seconds for turn in state.trace), 1),
    )


if __name__ == "__main__":
    sys.exit(main())
