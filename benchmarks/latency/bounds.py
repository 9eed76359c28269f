"""`python -m benchmarks.latency.bounds`: time and peak RAM of large inputs and long questions.

Each request runs in a process of its own, because a process keeps its peak. CPU seconds are those of all
threads, so other work on the machine changes them little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks import command
from benchmarks.command import Measured, make_parser, run
from benchmarks.shared.environment import name_model
from benchmarks.table import Column, Row, Table
from tersely.errors import TerselyError
from tersely.runtime.artifacts import load_artifact

ROOT = Path(__file__).resolve().parents[2]
WORDS = (10_000, 100_000, 1_000_000, 3_000_000)
DOCUMENTS = (10, 10_000)
QUESTIONS = ("short", "words", "numbers", "names")
QUESTION_WORDS = 12_000
COLUMNS = (
    Column("words", format=","),
    Column("documents", format=","),
    Column("question"),
    *(Column(name, "s", format=".1f") for name in ("split", "score", "pack", "total", "CPU")),
    Column("peak RAM", "MiB", format=",.0f"),
    Column("RAM before", "MiB", format=",.0f"),
)

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
        return next(int(line.split()[1]) for line in status if line.startswith(key)) / 1024

before = read_rss("VmRSS:")
started, cpu = time.perf_counter(), time.process_time()
result = compressor.compress(query, texts, budget=1000)
times = {"total": time.perf_counter() - started, "CPU": time.process_time() - cpu}
assert result.status == "compressed", (result.status, result.reason)
times |= {name: result.timings[name] for name in ("split", "score", "pack")}
print(json.dumps({**times, "peak RAM": read_rss("VmHWM:"), "RAM before": before}))
"""


class Options(command.Options):
    """The options of the command."""

    words: int


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency.bounds", __doc__)
    parser.add_argument("--words", type=int, default=WORDS[-1], help="largest input (default: %(default)s)")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Run every request."""
    rows: list[Row] = []
    for words in (n for n in WORDS if n <= options.words):
        for documents in (n for n in DOCUMENTS if n * 16 <= words or n == min(DOCUMENTS)):
            for question in QUESTIONS:
                place = {"words": words, "documents": documents, "question": question}
                rows.append({**place, **_measure(words, documents, question)})
    return Measured([Table("Requests", COLUMNS, tuple(rows))], name_model(load_artifact(None)))


def _measure(words: int, documents: int, question: str) -> dict[str, float]:
    arguments = [str(words), str(documents), question, str(QUESTION_WORDS)]
    process = subprocess.run(
        [sys.executable, "-c", _REQUEST, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "sdk")},
    )
    if process.returncode:
        cause = (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        raise TerselyError(f"the request {' '.join(arguments)} failed: {cause}")
    return json.loads(process.stdout)


if __name__ == "__main__":
    sys.exit(main())
