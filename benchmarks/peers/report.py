"""The section of RESULTS.md on the peers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.markdown import format_lead, format_percent, format_table
from benchmarks.peers.catalogue import BY_NAME
from benchmarks.peers.rows import OURS, UNCOMPRESSED, PeerCell, PeersRun
from benchmarks.shared.statistics import bootstrap_mean, bootstrap_mean_difference, estimate_share
from benchmarks.shared.tasks import TASKS

MEGABYTE = 1_000_000


def render(run: PeersRun) -> str:
    """The peers, then a table of quality for each task, then speed and size, then failures."""
    parts = [
        f"Model {run.model}. {run.environment.describe()} Seed {run.seed}.",
        "The peers, with the version that ran, the licence and how it ran:",
        "\n".join(_describe_peers(run)),
        "Answers kept: some answer stands in the compressed text, titles included; with a Wilson interval of "
        "95 %. Peers that take a size are brought near the budget; the rate achieved is in brackets. F1: a "
        "reader answers from the compressed text alone. A reader with a language model reads only the first "
        "questions, as many as the column says. Lead: answers kept by tersely in as many tokens, minus "
        "answers kept by the system, paired by question, with a bootstrap interval.",
    ]
    for task in run.tasks:
        parts += [f"### {TASKS[task].title}", _render_quality(run, task)]
    parts += ["![Answers kept against the share of tokens kept](baselines/peers_rate.png)"]
    parts += ["### Speed and size", _render_speed(run)]
    parts += ["![Answers kept against time](baselines/peers_latency.png)"]
    broken = [row for row in run.systems if row.failures]
    if broken:
        lines = [f"- {row.name}: {len(row.failures)}, the first with {row.failures[0]!r}" for row in broken]
        parts += ["Calls that failed, for which all documents are taken:", "\n".join(lines)]
    failed = [f"- {row.name}: {row.failed}" for row in run.systems if row.failed]
    if failed:
        parts += ["Peers that gave no result:", "\n".join(failed)]
    return "\n\n".join(parts)


def _describe_peers(run: PeersRun) -> list[str]:
    lines: list[str] = []
    for row in run.systems:
        if row.version:
            peer = BY_NAME[row.name]
            notes = [peer.setup] if peer.takes_size else [peer.setup, "it takes no size"]
            notes += [peer.caveat] if peer.caveat else []
            lines.append(f"- {peer.name}: {peer.package} {row.version}, {peer.licence}; {'; '.join(notes)}")
    return lines


def _render_quality(run: PeersRun, task: str) -> str:
    cells = [cell for cell in run.cells if cell.task == task]
    header = ["", "questions", "budget", "answers kept, %", "[rate]", "lead of tersely"]
    for reader in run.readers:
        most = max(len(cell.f1.get(reader, ())) for cell in cells)
        header.append(f"F1, {reader.split('-')[0]} ({most})")
    budgets = [cell.budget for cell in cells if cell.system == OURS]
    rows: list[list[str]] = []
    for budget in (*budgets, UNCOMPRESSED):
        ours = run.find_cell(OURS, task, budget)
        for system in run.systems:
            cell = run.find_cell(system.name, task, budget)
            if cell is None or not system.is_trained:
                continue
            row = [
                f"**{system.name}**" if system.name == OURS else system.name,
                str(len(cell.kept)),
                str(budget),
                format_percent(estimate_share(sum(cell.kept), len(cell.kept))),
                f"[{np.mean(cell.rate):.3f}]",
                "" if system.name == OURS else _format_lead(cell, ours, run.seed),
            ]
            rows.append([*row, *(_format_f1(cell.f1[reader], run.seed) for reader in run.readers)])
    return format_table(header, rows)


def _format_lead(cell: PeerCell, ours: PeerCell | None, seed: int) -> str:
    """tersely against a peer at the peer's own sizes, and against a control at the same rate."""
    kept = cell.tersely_kept or (ours.kept[: len(cell.kept)] if ours else ())
    return format_lead(bootstrap_mean_difference(kept, cell.kept, seed)) if kept else ""


def _format_f1(values: Sequence[float | None], seed: int) -> str:
    answered = [value for value in values if value is not None]
    return format_percent(bootstrap_mean(answered, seed)) if answered else ""


def _render_speed(run: PeersRun) -> str:
    rows: list[list[str]] = []
    for system in run.systems:
        seconds = [s for cell in run.list_cells(system.name) for s in cell.seconds]
        if not seconds or not system.is_timed:
            continue
        rows.append(
            [
                system.name if system.is_trained else f"{system.name}, random weights",
                f"{1000 * float(np.median(seconds)):.1f}",
                "" if system.peak_bytes is None else f"{system.peak_bytes / MEGABYTE:.0f}",
                f"{system.installed_bytes / MEGABYTE:.0f}" if system.installed_bytes else "",
                "" if system.load_seconds is None else f"{system.load_seconds:.1f}",
            ]
        )
    header = ["", "one question, p50 ms", "peak memory, MB", "installed without weights, MB", "load, s"]
    return format_table(header, rows)
