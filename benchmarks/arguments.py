"""The options that several benchmarks share, so that they mean the same everywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.results import baseline_path

SEED = 13


def make_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """A parser for `python -m module`."""
    return argparse.ArgumentParser(prog=f"python -m {module}", description=description)


def add_data(parser: argparse.ArgumentParser) -> None:
    """--data, the folder of the evaluation sets."""
    parser.add_argument("--data", help="data folder (default: the environment's TERSELY_DATA)")


def add_model(parser: argparse.ArgumentParser) -> None:
    """--model, the artifact to measure."""
    parser.add_argument("--model", help="artifact folder (default: the bundled model)")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """--seed, which draws questions, resamples and random controls."""
    parser.add_argument("--seed", type=int, default=SEED)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """--threads of tersely's model."""
    parser.add_argument("--threads", type=int, help="threads that run the model (default: every usable core)")


def add_out(parser: argparse.ArgumentParser, section: str) -> None:
    """--out, whose default is the section's place in `baselines/`."""
    parser.add_argument(
        "--out",
        type=Path,
        default=baseline_path(section),
        help="where the JSON goes; only the default also fills RESULTS.md",
    )
