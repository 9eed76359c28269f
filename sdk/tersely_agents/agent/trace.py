"""The turns of an agent: written as JSON lines, shown as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tersely.errors import InvalidInputError
from tersely_agents.jsonl import read_numbered_lines
from tersely_agents.redaction import redact_all


@dataclass(frozen=True, slots=True)
class TurnTrace:
    turn: int
    tokens_in: int
    """Tokens of the prompts of the turn, retries and summaries included, by the server's count, or by the
    compressor's where the server gives none."""
    tokens_out: int
    seconds: float
    """Since the row before: the model and the first tool of a turn, then one further tool a row."""
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    level: int | None = None
    """Level of detail of the summary, with the strategy "summary"."""
    quality: float | None = None
    """Q_com of the summary, where there was something to summarise."""
    summary: str | None = None
    result_tokens: int = 0
    """Tokens of the tool's result before it was shortened."""
    retried: bool = False
    """Whether the model had to be corrected."""
    fallback: str | None = None
    """Why the turn is not the model's own; None where it is."""
    error: str | None = None
    """The error of the tool, or why the model gave no turn."""
    task: str = ""
    """The task that the turn belongs to."""


def write_turns(path: Path, traces: Iterable[TurnTrace], *, redact_secrets: bool = True) -> None:
    """Append turns to a file, one a line, without what looks like keys, tokens and passwords."""
    with path.open("a", encoding="utf-8") as stream:
        for trace in traces:
            row = asdict(trace)
            stream.write(json.dumps(redact_all(row) if redact_secrets else row) + "\n")


def read_turns(path: Path) -> list[TurnTrace]:
    """The turns in a file. Raises InvalidInputError with the number of a line that is not a turn."""
    known = {f.name for f in fields(TurnTrace)}
    turns: list[TurnTrace] = []
    for number, line in read_numbered_lines(path):
        try:
            values = json.loads(line)
            turns.append(TurnTrace(**{key: value for key, value in values.items() if key in known}))
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"{path}, line {number} is no turn of an agent: {error}.") from error
    return turns


def format_table(traces: Sequence[TurnTrace], width: int = 100) -> str:
    """The turns as a table, task after task, with totals."""
    lines = [f"{'turn':>4} {'in':>7} {'out':>6} {'s':>6} {'level':>5} {'Q':>5}  action"]
    for number, t in enumerate(traces):
        if number and t.task != traces[number - 1].task:
            lines.append("")
        level = "" if t.level is None else str(t.level)
        score = "" if t.quality is None else f"{t.quality:.2f}"
        arguments = ", ".join(f"{value}" for value in t.arguments.values())
        notes = [note for note in (t.retried and "retried", t.fallback, t.error) if note]
        action = f"{t.tool or '-'}({arguments})" + (f"  [{'; '.join(notes)}]" if notes else "")
        action = " ".join(action.split())
        row = f"{t.turn:>4} {t.tokens_in:>7} {t.tokens_out:>6} {t.seconds:>6.1f} {level:>5} {score:>5}  "
        room = max(20, width - len(row))
        lines.append(row + (action if len(action) <= room else action[: room - 1] + "…"))
    scores = [t.quality for t in traces if t.quality is not None]
    mean = f"{sum(scores) / len(scores):.2f}" if scores else ""
    total_in, total_out = sum(t.tokens_in for t in traces), sum(t.tokens_out for t in traces)
    seconds = sum(t.seconds for t in traces)
    lines.append(f"{'all':>4} {total_in:>7} {total_out:>6} {seconds:>6.1f} {'':>5} {mean:>5}")
    return "\n".join(lines)
