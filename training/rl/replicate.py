"""`python -m training.rl.replicate CLAIM ...` (or `all`): run missing seeds, print and write the verdicts.

Each run takes one core. Finished runs are skipped; an interrupted one continues. The measured rows are
written to `training/rl/replications/results/`, and `training/REPLICATIONS.md` is generated from them."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch

from training.rl.replications import (
    effcomp,
    effcomp_appendix,
    effcomp_real,
    evolving,
    evolving_steps,
    recon,
    supo,
    ziprl,
    ziprl_turns,
)
from training.rl.replications.claim import Claim, Row
from training.rl.replications.results import Results, read_results, render_claim, verdicts, write_results
from training.run import run_command, show_progress, write_text

CLAIMS: Mapping[str, Claim] = {
    claim.name: claim
    for claim in (
        effcomp.RQ4,
        effcomp_real.RQ4_REAL,
        effcomp.TABLE3,
        effcomp_appendix.D8,
        effcomp_appendix.D10,
        effcomp_appendix.D11,
        recon.SUMMARIES,
        supo.OVERLONG_MASK,
        supo.WINDOW,
        supo.MORE_RESETS,
        supo.SUMMARY_TOKENS,
        ziprl.HRR,
        ziprl.PARTS,
        ziprl_turns.FIGURE3,
        ziprl_turns.TABLE13,
        evolving.TWO_BY_THREE,
        evolving.ZERO_VARIANCE,
        evolving_steps.PAIRING,
        evolving_steps.GROWTH,
    )
}
DOCUMENT = Path(__file__).parents[1] / "REPLICATIONS.md"

_INTRODUCTION = """# Replications

Claims of the papers, tried at a size that two cores can run. Every claim is listed with the difference
that was predicted before its first run. Its verdict is one of four:

- **replicated**: the 95 % interval of the difference (bootstrap over seeds) is above zero, p of the
  sign-flip test is below 0.05, and the difference reaches the predicted margin;
- **built in**: a control without the mechanism shows the same;
- **reversed**: the interval is below zero, and p is below 0.05;
- **null**: everything else.

Fewer than ten seeds give no verdict. A run that had nothing to measure counts as 0, and no seed is left out.
The policies are tiny, so a replication speaks for the mechanism, never for the papers' magnitudes.
`initial_reward` is the success before reinforcement learning.

This page is written by `python -m training.rl.replicate`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.replicate", description=__doc__)
    parser.add_argument(
        "claims", nargs="+", choices=[*CLAIMS, "all"], metavar="CLAIM", help=f"{', '.join(CLAIMS)}, all"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/replications"), help="folder for unfinished runs"
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, a core each")
    parser.add_argument("--seeds", type=int, help="fewer seeds than the claim asks for")
    args = parser.parse_args()
    claims = list(CLAIMS.values()) if "all" in args.claims else [CLAIMS[name] for name in args.claims]
    torch.set_num_threads(1)
    for claim in claims:
        results = read_results(claim)
        seeds = args.seeds or claim.seeds
        runs = run_missing(claim, results, args.out, seeds=seeds, jobs=args.jobs)
        for rows in show_progress(claim.name, runs, total=seeds, unit="seed"):
            results.rows += rows
            write_results(claim, results)
        print(render_claim(claim, results))
    write_text(DOCUMENT, render_document())


def run_missing(claim: Claim, done: Results, out: Path, *, seeds: int, jobs: int = 1) -> Iterator[list[Row]]:
    """Run the arms and seeds without a row, and yield the rows of each seed. The arms of a seed run one after
    the other, because they may share a cold start."""
    missing = {
        seed: arms
        for seed in range(1, seeds + 1)
        if (arms := [arm for arm in claim.arms if not done.has(arm, seed)])
    }
    if jobs == 1:
        yield from (run_seed(claim, seed, arms, out) for seed, arms in missing.items())
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        runs = [pool.submit(_run_named, claim.name, seed, arms, out) for seed, arms in missing.items()]
        try:
            yield from (run.result() for run in as_completed(runs))
        finally:  # after Ctrl-C, start no more of them
            pool.shutdown(wait=False, cancel_futures=True)


def run_seed(claim: Claim, seed: int, arms: list[str], out: Path) -> list[Row]:
    """Run arms of one seed in this process."""
    rows: list[Row] = []
    for arm in arms:
        began = time.process_time()
        folder = out / claim.name / f"seed-{seed}" / f"arm-{claim.arms.index(arm)}"
        metrics = claim.run(arm, seed, folder)
        rows.append(Row(arm, seed, metrics, time.process_time() - began))
    return rows


def render_document() -> str:
    sections = [render_claim(claim, read_results(claim)) for claim in CLAIMS.values()]
    summary = ["| claim | verdicts on its predictions |", "|---|---|"]
    for name, claim in CLAIMS.items():
        found = ", ".join(verdicts(claim, read_results(claim)))
        summary.append(f"| [{name}](#{name}) | {found} |")
    return "\n".join([_INTRODUCTION, "\n".join(summary), "", *sections])


def _run_named(name: str, seed: int, arms: list[str], out: Path) -> list[Row]:
    # A claim has a function and cannot be sent to another process, but its name can.
    return run_seed(CLAIMS[name], seed, arms, out)


if __name__ == "__main__":
    run_command(main)
