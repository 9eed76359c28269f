"""`python -m training.package_questions fetch FOLDER` downloads and unpacks the packages.

`python -m training.package_questions build --packages FOLDER --out DATA.jsonl.gz` checks the questions with
them and writes rows with passages. Both continue without a missing package, name it and exit with 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from benchmarks.shared.tasks.negatives import Neighbours
from training.package_questions.build import Corpus, make_request, render_table
from training.package_questions.fetch import fetch_packages
from training.package_questions.texts import read_questions


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.package_questions", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fetch = commands.add_parser("fetch", help="download and unpack the packages")
    fetch.add_argument("folder", type=Path)
    build = commands.add_parser("build", help="write the questions with their passages")
    build.add_argument("--packages", type=Path, required=True, help="folder of unpacked packages")
    build.add_argument("--out", type=Path, required=True, help="file to write, DATA.jsonl.gz")
    build.add_argument("--negatives", type=int, default=20, help="other passages of each question")
    build.add_argument("--only", nargs="+", metavar="PACKAGE", help="write questions about these packages")
    build.add_argument("--requests", action="store_true", help="write them as training.adapt takes them")
    build.add_argument(
        "--neighbours",
        choices=get_args(Neighbours),
        default="mixed",
        help="negatives by BM25 and MiniLM in turn, or by BM25 alone",
    )
    build.add_argument("--split", choices=["train", "held_out"], help="write only these; both by default")
    args = parser.parse_args(arguments)
    if args.command == "fetch":
        problems = fetch_packages(read_questions(), args.folder)
    else:
        corpus = Corpus(args.packages, list(read_questions()), args.neighbours)
        chosen = [
            question
            for question in corpus.questions
            if args.split in (None, question.split) and (not args.only or question.package in args.only)
        ]
        opened = gzip.open if args.out.suffix == ".gz" else open
        with opened(args.out, "wt", encoding="utf-8") as lines:
            for question in chosen:
                row = corpus.make_row(question, args.negatives)
                lines.write(
                    json.dumps(make_request(row) if args.requests else row, ensure_ascii=False) + "\n"
                )
        print(render_table(corpus))
        print(f"{len(chosen)} questions written to {args.out}, with passages out of {corpus.size}")
        problems = corpus.problems
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
