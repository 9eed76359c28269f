"""`python -m benchmarks.reading`: does a reader answer the same from a compressed context?

The tables take seconds to compute from the rows in `benchmarks/reading/rows`. These hold the answers, and in
place of the texts of questions and contexts their ids, sizes and spans. They are made by
`python -m benchmarks.reading.collect`.
"""

from __future__ import annotations

import sys

from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.reading.rows import CONTEXTS, ROWS, get_key
from benchmarks.reading.tables import make_tables
from benchmarks.rows import read_lines
from tersely.errors import TerselyError


def main(arguments: list[str] | None = None) -> int:
    """Compute the tables and return the exit code."""
    parser = make_parser("benchmarks.reading", __doc__)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Return the tables of the published rows."""
    rows = list(read_lines(ROWS / f"{CONTEXTS}.gz"))
    if not rows:
        raise TerselyError(f"{ROWS} has no rows: make them with python -m benchmarks.reading.collect")
    run_settings, contexts = rows[0], rows[1:]
    sizes = {get_key(context): context for context in contexts}
    answers = {
        path.name.removeprefix("answers-").removesuffix(".jsonl.gz"): list(read_lines(path))
        for path in sorted(ROWS.glob("answers-*"))
    }
    processor = run_settings["environment"]["cpu"]
    return Measured(
        make_tables(answers, sizes, options.seed), run_settings["model"], {"rows made on": processor}
    )


if __name__ == "__main__":
    sys.exit(main())
