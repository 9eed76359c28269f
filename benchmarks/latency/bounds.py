"""`python -m benchmarks.latency.bounds`: time and peak RAM of large inputs and long questions.

Each request runs in a process of its own, because a process keeps its peak. Prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

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
started = time.perf_counter()
result = compressor.compress(query, texts, budget=1000)
seconds = time.perf_counter() - started
assert result.status == "compressed", (result.status, result.reason)
stages = {name: result.timings[name] for name in ("split", "score", "pack")}
print(json.dumps({"seconds": seconds, "peak": read_rss("VmHWM:"), "before": before, **stages}))
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
    args = parser.parse_args(arguments)
    print("| words | documents | question | split s | score s | pack s | total s | peak MiB | input MiB |")
    print("|---:|---:|---|---:|---:|---:|---:|---:|---:|")
    for words in args.words:
        for documents in (n for n in args.documents if n * 16 <= words or n == min(args.documents)):
            for question in args.questions:
                print(_measure(args.sdk, words, documents, question, args.question_words), flush=True)
    return 0


def _measure(sdk: Path, words: int, documents: int, question: str, question_words: int) -> str:
    """One row of the table. "input MiB" is the RAM of the process before the request."""
    head = f"| {words:,} | {documents:,} | {question} "
    process = subprocess.run(
        [sys.executable, "-c", _REQUEST, str(words), str(documents), question, str(question_words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(sdk)},
    )
    if process.returncode:
        cause = (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        return f"{head}| {cause} |"
    row = json.loads(process.stdout)
    times = " | ".join(f"{row[name]:.1f}" for name in ("split", "score", "pack", "seconds"))
    return f"{head}| {times} | {row['peak'] / 2**20:,.0f} | {row['before'] / 2**20:,.0f} |"


if __name__ == "__main__":
    sys.exit(main())
