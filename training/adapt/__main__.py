"""`python -m training.adapt --data MY.jsonl --out MODEL`: adapt a model to questions of your own.

Each line of the file is a question in the form that `tersely calibrate` reads. At least 50 are needed:

    {"query": "...", "documents": ["...", {"title": "...", "text": "..."}], "answers": ["..."]}

A sentence counts as needed if it holds an answer. A line may have `"evidence": ["..."]` with texts that are
copied from the documents. Then the sentences that these texts cover count as needed instead.

The command trains the networks on the questions, from their present weights, and takes the mean of the
weights before and after. It fits the layer that weighs their outputs and the exact matches, the threshold,
and the calibration of `recall`. It measures each question with networks and a layer that were fitted without
that question. If the new model does not keep more of the needed sentences, the command says so, writes
nothing, and exits with 3.

The command copies the data for `abstain` and `calibrated` from the model that it starts from. To fit them to
your questions too, run `tersely calibrate --model MODEL`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.shared.statistics import Estimate
from tersely.errors import TerselyError
from tersely.runtime.artifacts import load_artifact
from training.adapt.fit import RATES, adapt, compare, count_kept, is_better
from training.adapt.questions import UnusableDataError, read_questions
from training.adapt.tune import Tuner
from training.run import run_command
from training.selector_model.scores import GroupScores

NOT_BETTER = 3
"""Exit code if the new model does not keep more of the needed sentences."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.adapt", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", type=Path, required=True, help="your questions, a line each")
    parser.add_argument("--out", type=Path, required=True, help="new folder for the model")
    parser.add_argument("--model", help="the model to start from; the bundled one by default")
    args = parser.parse_args(arguments)
    if args.out.exists():
        parser.error(f"{args.out} exists already; name a new folder")
    try:
        groups, unlabelled = read_questions(args.data)
        artifact = load_artifact(args.model)
        tuner = Tuner(artifact)
    except (OSError, ValueError, UnusableDataError, TerselyError) as error:
        print(error, file=sys.stderr)
        return 2
    adapted = adapt(artifact, tuner, groups)
    differences = [compare(adapted.before, adapted.after, rate) for rate in RATES]
    print(render_table(adapted.before, adapted.after, differences, unlabelled))
    if not is_better(differences):
        print(f"The new model is not better for these questions. Keep {artifact.name}; nothing was written.")
        return NOT_BETTER
    adapted.write(args.out)
    print(f'Written to {args.out}: Compressor("{args.out}")')
    return 0


def render_table(
    before: Sequence[GroupScores],
    after: Sequence[GroupScores],
    differences: Sequence[Estimate],
    unlabelled: int,
) -> str:
    """Return the shares kept before and after at each rate, as text."""
    lines = [f"{len(before)} questions; {unlabelled} more have no sentence that holds an answer"]
    lines.append("needed sentences kept    before   after   difference (95 % interval)")
    for rate, difference in zip(RATES, differences, strict=True):
        shares = []
        for scored in (before, after):
            kept, total = count_kept(scored, rate)
            shares.append(100 * kept.sum() / total.sum())
        d = [100 * x for x in (difference.value, difference.low, difference.high)]
        interval = f"{d[0]:+.1f} ({d[1]:+.1f} to {d[2]:+.1f})"
        lines.append(f"at {rate:<4} of the text       {shares[0]:6.1f}  {shares[1]:6.1f}   {interval}")
    return "\n".join(lines)


if __name__ == "__main__":
    run_command(main, "Nothing was written; the same command starts again.")
