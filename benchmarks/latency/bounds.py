"""`python -m benchmarks.latency.bounds`: time and peak RAM of large inputs and long questions.

Columns: seconds of the stages, in total and of the CPU; MiB of RAM at the peak and before the request.
Each request runs in a process of its own, because a process keeps its peak. Prints a table, and with `--out`
writes it as JSON. CPU seconds are those of all threads, so other work on the machine changes them little.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.shared.environment import read_environment

ROOT = Path(__file__).resolve().parents[2]
WORDS = (10_000, 100_000, 1_000_000, 3_000_000)
DOCUMENTS = (10, 10_000)
QUESTION_WORDS = 12_000

_REQUEST = """
import json, random, sys, time
from tokenizers import Tokenizer
from tersely import Compressor
from tersely.runtime.artifacts import load_artifact

words, documents, question, question_words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
draw = random.Random(13)
vocabulary = sorted(
    w for w in Tokenizer.from_file(str(load_artifact().tokenizer_path)).get_vocab() if w.isalpha()
)

def sentence():
    return f"{' '.join(draw.choices(vocabulary, k=15))} {draw.randrange(100_000)}.".capitalize()

def document(length):
    return " ".join(sentence() for _ in range(max(1, length // 16)))

query = {
    "short": "Which valley supplies the copper of the 417 bells of Orvelle?",
    "words": " ".join(draw.choices(vocabulary, k=question_words)),
    "numbers": " ".join(str(draw.randrange(100_000)) for _ in range(question_words)),
    "names": ". ".join(f"did {w.capitalize()} go" for w in draw.choices(vocabulary, k=question_words // 3)),
}[question]
texts = [document(words // documents) for _ in range(documents)]
compressor = Compressor()
compressor.compress("Who?", ["One. Two. Three."], rate=0.5)

def read_rss(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key)) * 1024

before = read_rss("VmRSS:")
started, cpu = time.perf_counter(), time.process_time()
result = compressor.compress(query, texts, budget=1000)
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
assert result.status == "compressed", (result.status, result.reason)
stages = {name: result.timings[name] for name in ("split", "score", "pack")}
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": read_rss("VmHWM:"), "before": before, **stages}))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requests and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency.bounds", description=__doc__)
    parser.add_argument("--words", type=int, nargs="+", default=WORDS, metavar="N")
    parser.add_argument("--documents", type=int, nargs="+", default=DOCUMENTS, metavar="N")
    kinds = ("short", "words", "numbers", "names")
    parser.add_argument("--questions", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--question-words", type=int, default=QUESTION_WORDS, metavar="N")
    parser.add_argument(
        "--sdk", type=Path, default=ROOT / "sdk", help="measure another checkout's sdk folder"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows as JSON")
    args = parser.parse_args(arguments)
    names = ["words", "documents", "question", "split", "score", "pack", "total", "CPU", "peak", "before"]
    print(f"| {' | '.join(names)} |")
    print("|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    rows: list[dict[str, Any]] = []
    for words in args.words:
        for documents in (n for n in args.documents if n * 16 <= words or n == min(args.documents)):
            for question in args.questions:
                request = {"words": words, "documents": documents, "question": question}
                rows.append(
                    {**request, **_measure(args.sdk, words, documents, question, args.question_words)}
                )
                print(_render(rows[-1]), flush=True)
    if args.out is not None:
        run = {"benchmark": "bounds", "environment": asdict(read_environment()), "rows": rows}
        args.out.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    return 1 if any("error" in row for row in rows) else 0


def _measure(sdk: Path, words: int, documents: int, question: str, question_words: int) -> dict[str, Any]:
    """What a request took, or its error. "before" is the RAM of the process before the request."""
    process = subprocess.run(
        [sys.executable, "-c", _REQUEST, str(words), str(documents), question, str(question_words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(sdk)},
    )
    if process.returncode:
        cause = (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        return {"error": cause}
    return json.loads(process.stdout)


def _render(row: dict[str, Any]) -> str:
    head = f"| {row['words']:,} | {row['documents']:,} | {row['question']} "
    if "error" in row:
        return f"{head}| {row['error']} |"
    times = " | ".join(f"{row[name]:.1f}" for name in ("split", "score", "pack", "seconds", "cpu"))
    return f"{head}| {times} | {row['peak'] / 2**20:,.0f} | {row['before'] / 2**20:,.0f} |"


if __name__ == "__main__":
    sys.exit(main())
