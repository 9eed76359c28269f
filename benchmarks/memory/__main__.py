"""`python -m benchmarks.memory --data DIR`: agent memories on real transcripts.

Every transcript is replayed through every memory. Before each message of the assistant the memory is asked
what the model would see; the tokens of that are the bill. The values that the assistant then wrote into its
tool call, and had been told after the first prompt, are the facts that had to be there; of meetings, the
sentences that answer the questions at the end. With --chat-model-url, LangChain's SummarizationMiddleware and
tersely also run with that model, on the first transcripts of each set.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory.policies import DropOldest, Everything, MaskObservations, Memory, Tersely
from benchmarks.memory.replay import CACHED_PRICE, WRITTEN_PRICE, Account, replay
from benchmarks.memory.stress import stress
from benchmarks.memory.transcripts import Transcript, read_transcripts
from benchmarks.progress import Progress
from benchmarks.quality.statistics import Estimate, bootstrap, paired_difference
from benchmarks.results import add_out, describe, environment, publish, table
from benchmarks.shared.tasks.rows import data_folder
from tersely import Compressor
from tersely.chat import ChatModel, OpenAIChat
from tersely.chat.transcript import size

SETS = {
    "taubench": ("tau-bench, airline and retail", (500, 1000, 1500, 2500)),
    "fireact": ("FireAct, search runs of twelve messages and more", (500, 750, 1000, 1500)),
    "qmsum": ("QMSum, meetings", (1000, 2000, 4000, 6000)),
}
"""Title, and tokens beyond the first prompt (twice the first prompt for tersely, which gives it half of the
limit)."""
STRESS_LIMIT = 4000
WINDOWS = (1, 2, 3, 5)
"""Tool results that masking leaves."""

Make = Callable[[Transcript], Memory]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--data", help="data folder; TERSELY_DATA by default")
    parser.add_argument("--limit", type=int, default=100, help="transcripts of each set, at most")
    parser.add_argument("--meetings", type=int, default=15, help="meetings, at most")
    parser.add_argument("--chat-model-url", help="an OpenAI-compatible server, for memories with a model")
    parser.add_argument("--chat-limit", type=int, default=12, help="transcripts for memories with a model")
    parser.add_argument("--chat-meetings", type=int, default=3, help="meetings for memories with a model")
    parser.add_argument("--seed", type=int, default=13)
    add_out(parser, "memory")
    options = parser.parse_args(arguments)
    return publish("memory", lambda: run(options), markdown, options.out)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run: for every set and memory what it cost and held."""
    compressor = Compressor()
    chat = (
        OpenAIChat(base_url=options.chat_model_url, timeout_s=600, max_tokens=400, temperature=0.0)
        if (options.chat_model_url)
        else None
    )
    found: dict[str, Any] = {}
    for name, (title, rooms) in SETS.items():
        transcripts = read_transcripts(data_folder(options.data), name, options.seed)
        limit = min(options.meetings if name == "qmsum" else options.limit, len(transcripts))
        drawn = random.Random(options.seed).sample(transcripts, limit)
        found[title] = compare(drawn, systems(compressor, rooms), compressor, options.seed)
        if chat:
            few = drawn[: options.chat_meetings if name == "qmsum" else options.chat_limit]
            made = with_model(compressor, rooms, chat)
            found[f"{title}, with a model"] = compare(few, made, compressor, options.seed)
    return {
        "environment": environment(),
        "model": compressor.model,
        "chat_model": Path(chat.name).name if chat else None,  # llama.cpp gives a path
        "seed": options.seed,
        "sets": found,
        "stress": stress(compressor, STRESS_LIMIT, options.seed),
    }


def with_model(compressor: Compressor, rooms: Sequence[int], chat: ChatModel) -> dict[str, Make]:
    """tersely and LangChain with the same model, at the second of the rooms."""
    from benchmarks.memory.langchain_memory import LangChainSummaries

    count, room = compressor.count_tokens, rooms[1]
    return {
        "everything": lambda t: Everything(t.first),
        f"LangChain, {room} tokens": lambda t: LangChainSummaries(
            t.first, size(t.first, count) + room, chat, count
        ),
        f"tersely, {room} tokens": lambda t: Tersely(
            t.first, 2 * size(t.first, count) + room, compressor, chat
        ),
        f"tersely without a model, {room} tokens": lambda t: Tersely(
            t.first, 2 * size(t.first, count) + room, compressor
        ),
    }


def systems(compressor: Compressor, rooms: Sequence[int]) -> dict[str, Make]:
    """Every memory by the name it has in the table."""
    count = compressor.count_tokens

    def first(transcript: Transcript) -> int:
        return size(transcript.first, count)

    made: dict[str, Make] = {"everything": lambda t: Everything(t.first)}
    for window in WINDOWS:
        made[f"last {window} tool results"] = lambda t, w=window: MaskObservations(t.first, w)
    for room in rooms:
        made[f"newest, {room} tokens"] = lambda t, r=room: DropOldest(t.first, first(t) + r, count)
    for room in rooms:
        made[f"tersely, {room} tokens"] = lambda t, r=room: Tersely(t.first, 2 * first(t) + r, compressor)
    return made


def compare(
    transcripts: Sequence[Transcript], made: dict[str, Make], compressor: Compressor, seed: int
) -> dict[str, Any]:
    """Accounts of all memories over the same transcripts, and tersely against each of the others."""
    accounts: dict[str, list[Account]] = {}
    progress = Progress(len(made) * len(transcripts))
    for name, make in made.items():
        accounts[name] = []
        for transcript in transcripts:
            accounts[name].append(replay(transcript, make(transcript), compressor.count_tokens))
            progress.step(name)
    progress.close()
    rows = {name: _row(own, seed) for name, own in accounts.items()}
    for name, own in accounts.items():
        if not name.startswith("tersely"):
            rows[name]["against"] = _against(own, accounts, rows[name]["billed"], seed)
    return {
        "transcripts": len(transcripts),
        "messages": sum(len(t.first) + len(t.rest) for t in transcripts),
        "facts": sum(len(facts) for t in transcripts for facts in t.facts.values()),
        "rows": rows,
    }


def _row(accounts: Sequence[Account], seed: int) -> dict[str, Any]:
    total = Account()
    for account in accounts:
        total += account
    held, wanted = _facts(accounts)
    return {
        "billed": round(total.price(cache=False)),
        "billed_with_cache": round(total.price(cache=True)),
        "held": _json(bootstrap(held, wanted, seed)),
        "orphans": total.orphans,
        "longest": total.longest,
        "milliseconds_per_message": round(1000 * total.seconds / len(total.turn_seconds), 1),
    }


def _against(
    theirs: Sequence[Account], accounts: dict[str, list[Account]], billed: int, seed: int
) -> dict[str, Any] | None:
    """The dearest setting of tersely's that costs no more, and the difference in facts held."""
    bills = {
        name: sum(a.price(cache=False) for a in own)
        for name, own in accounts.items()
        if name.startswith("tersely")
    }
    affordable = {name: bill for name, bill in bills.items() if bill <= billed}
    if not affordable:
        return None
    best = max(affordable, key=affordable.__getitem__)
    ours, wanted = _facts(accounts[best])
    return {"setting": best, "difference": _json(paired_difference(ours, _facts(theirs)[0], wanted, seed))}


def _facts(accounts: Sequence[Account]) -> tuple[Any, Any]:
    return np.array([a.held for a in accounts], float), np.array([a.needed for a in accounts], float)


def _json(estimate: Estimate) -> list[float]:
    return [round(100 * x, 1) for x in (estimate.value, estimate.low, estimate.high)]


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md."""
    parts = [
        f"Model {result['model']}. Notes are sentences of the transcript, where no chat model is named "
        f"(that one is {result['chat_model'] or 'none'}). "
        f"Seed {result['seed']}. {describe(result['environment'])}\n\n"
        f"Billed: input tokens, and {WRITTEN_PRICE:g} for each token that a model writes for a summary; with "
        f"a cache, input that stood at the beginning of the call before costs {CACHED_PRICE:g}."
    ]
    for name, found in result["sets"].items():
        header = ["", "billed", "with a cache", "facts held, %", "tersely at no higher bill"]
        header += ["orphans", "longest", "ms a message"]
        rows = [
            [
                f"**{system}**" if system.startswith("tersely") else system,
                f"{row['billed']:,}",
                f"{row['billed_with_cache']:,}",
                "{} ({}–{})".format(*row["held"]),
                _told(row.get("against")),
                str(row["orphans"]),
                f"{row['longest']:,}",
                str(row["milliseconds_per_message"]),
            ]
            for system, row in found["rows"].items()
        ]
        counts = ", ".join(f"{found[key]} {key}" for key in ("transcripts", "messages", "facts"))
        parts.append(f"### {name}\n\n{counts}.\n\n{table(header, rows)}")
    found = result["stress"]
    quarters = ", ".join(f"{ms:g}" for ms in found["milliseconds"])
    parts.append(
        f"### A long task\n\n{found['turns']} turns with a scripted model and a file: {found['summaries']} "
        f"resets, at most {found['longest']:,} tokens of {found['limit']:,}; median milliseconds of a turn "
        f"in each quarter of the task: {quarters}; {found['file_bytes']:,} bytes on disk."
    )
    return "\n\n".join(parts)


def _told(against: dict[str, Any] | None) -> str:
    if against is None:
        return "–"
    value, low, high = against["difference"]
    return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    sys.exit(main())
