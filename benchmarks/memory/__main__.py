"""`python -m benchmarks.memory --data DIR`: agent memories on real transcripts.

Every transcript is replayed through every memory. Before each message of the assistant the memory gives the
context that the model would see; its tokens are the bill. The facts that this context has to hold are the
values which the assistant then writes into its tool call and which came after the first prompt. In meetings
they are the sentences that answer the questions at the end. With --chat-model-url, LangChain's
SummarizationMiddleware and tersely also run with that model, on the first transcripts of each set.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arguments import add_data, add_out, add_seed, make_parser
from benchmarks.memory.comparison import compare, list_memories, list_memories_with_model
from benchmarks.memory.report import render
from benchmarks.memory.rows import MemoryRun, SetRow
from benchmarks.memory.stress import run_long_task
from benchmarks.memory.transcripts import read_transcripts
from benchmarks.results import publish
from benchmarks.shared.environment import read_environment
from benchmarks.shared.tasks.rows import find_data_folder
from tersely import Compressor
from tersely_agents.chat import OpenAIChat

SETS = {
    "taubench": ("tau-bench, airline and retail", (500, 1000, 1500, 2500)),
    "fireact": ("FireAct, search runs of twelve messages and more", (500, 750, 1000, 1500)),
    "qmsum": ("QMSum, meetings", (1000, 2000, 4000, 6000)),
}
"""Title, and tokens beyond the first prompt."""
WITH_MODEL = 1
"""Which of these rooms the memories with a model get."""
STRESS_LIMIT = 4000


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    limit: int
    meetings: int
    chat_model_url: str | None
    chat_limit: int
    chat_meetings: int
    seed: int
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.memory", __doc__)
    add_data(parser)
    parser.add_argument("--limit", type=int, default=100, help="transcripts of each set, at most")
    parser.add_argument("--meetings", type=int, default=15, help="meetings, at most")
    parser.add_argument("--chat-model-url", help="an OpenAI-compatible server, for memories with a model")
    parser.add_argument("--chat-limit", type=int, default=12, help="transcripts for memories with a model")
    parser.add_argument("--chat-meetings", type=int, default=3, help="meetings for memories with a model")
    add_seed(parser)
    add_out(parser, "memory")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("memory", lambda: measure(options), render, options.out)


def measure(options: Options) -> MemoryRun:
    """Replay every set through every memory, then run the long task."""
    compressor = Compressor()
    chat = None
    if options.chat_model_url:
        chat = OpenAIChat(base_url=options.chat_model_url, timeout_s=600, max_tokens=400, temperature=0.0)
    sets: list[SetRow] = []
    for name, (title, rooms) in SETS.items():
        transcripts = read_transcripts(find_data_folder(options.data), name, options.seed)
        limit = min(options.meetings if name == "qmsum" else options.limit, len(transcripts))
        drawn = random.Random(options.seed).sample(transcripts, limit)
        sets.append(compare(title, drawn, list_memories(compressor, rooms), compressor, options.seed))
        if chat:
            few = drawn[: options.chat_meetings if name == "qmsum" else options.chat_limit]
            makers = list_memories_with_model(compressor, rooms[WITH_MODEL], chat)
            sets.append(compare(f"{title}, with a model", few, makers, compressor, options.seed))
    return MemoryRun(
        benchmark="memory",
        environment=read_environment(),
        model=compressor.model,
        chat_model=Path(chat.name).name if chat else None,  # llama.cpp gives a path
        seed=options.seed,
        sets=tuple(sets),
        stress=run_long_task(compressor, STRESS_LIMIT, options.seed),
    )


if __name__ == "__main__":
    sys.exit(main())
