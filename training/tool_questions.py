"""`python -m training.tool_questions --out DATA/train/tool_results.jsonl.gz`: write rows for the training.

The questions are those of `benchmarks/real_results/training`. Their commands run here, and read the packages
of a Python. A question is left out, and named, if its evidence is no longer in its result.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.real_results.questions import Question, load


def make_row(question: Question) -> dict[str, Any]:
    """Return the row of a question: its result is the document, its evidence the needed sentences."""
    sentences = sorted(question.evidence, key=question.text.index)
    document = {
        "title": None,
        "text": question.text,
        "gold": True,
        "sentences": sentences,
        "support": list(range(len(sentences))),
    }
    return {
        "id": question.id,
        "question": question.question,
        "answers": list(question.answers),
        "docs": [document],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the rows. Return 1 if a question had to be left out, else 0."""
    parser = argparse.ArgumentParser(prog="python -m training.tool_questions", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write, .jsonl.gz")
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="the Python whose packages are read; this one by default",
    )
    args = parser.parse_args(arguments)
    loaded = load("training", args.python)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(args.out, "wt", encoding="utf-8") as lines:
        for question in loaded.questions:
            lines.write(json.dumps(make_row(question), ensure_ascii=False) + "\n")
    print(f"{len(loaded.questions)} questions written to {args.out}")
    for name in loaded.dropped:
        print(f"{name}: its evidence is not in its result", file=sys.stderr)
    return int(bool(loaded.dropped))


if __name__ == "__main__":
    sys.exit(main())
