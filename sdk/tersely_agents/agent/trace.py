"""The turns of an agent: written to a file of JSON lines, shown as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tersely.errors import InvalidInputError
from tersely.inputs import split_json_lines
from tersely_agents.redaction import redact_all

_TABLE_WIDTH = 100


@dataclass(frozen=True, slots=True)
class TurnTrace:
    """One call of a tool, or a turn without one."""

    turn: int
    tokens_in: int
    """Number of tokens of the turn's prompts, retries and summaries included, as the server counts them; by
    the compressor's counter if the server reports none."""
    tokens_out: int
    seconds: float
    """Seconds since the previous row: those of the model and the turn's first tool, or of a further tool."""
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    level: int | None = None
    """Level of detail of the summary, with the strategy "summary"."""
    quality: float | None = None
    """Q_com of the summary, if there was something to summarise."""
    summary: str | None = None
    result_tokens: int = 0
    """Number of tokens of the tool's result before it was shortened."""
    retried: bool = False
    """True if the model had to be corrected."""
    fallback: str | None = None
    """The reason why a fallback took the turn; None if the model took it."""
    error: str | None = None
    """Error of the tool, or the reason why the model gave no turn."""
    task: str = ""
    """The task that the turn belongs to."""


def write_turns(path: Path, turns: Iterable[TurnTrace], *, redact_secrets: bool = True) -> None:
    """Append turns to a file, one a line, without texts that look like keys, tokens or passwords."""
    with path.open("a", encoding="utf-8") as stream:
        for turn in turns:
            row = asdict(turn)
            stream.write(json.dumps(redact_all(row) if redact_secrets else row) + "\n")


def read_turns(path: Path) -> list[TurnTrace]:
    """Read the turns in a file. Raises InvalidInputError with the number of a line that is not a turn."""
    known = {f.name for f in fields(TurnTrace)}
    turns: list[TurnTrace] = []
    for number, line in split_json_lines(path.read_text(encoding="utf-8")):
        try:
            values = json.loads(line)
            turns.append(TurnTrace(**{key: value for key, value in values.items() if key in known}))
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"{path}, line {number} is no turn of an agent: {error}.") from error
    return turns


def format_table(turns: Sequence[TurnTrace]) -> str:
    """Return the turns as a table, task after task, with totals."""
    lines = [f"{'turn':>4} {'in':>7} {'out':>6} {'s':>6} {'level':>5} {'Q':>5}  action"]
    for number, turn in enumerate(turns):
        if number and turn.task != turns[number - 1].task:
            lines.append("")
        level = "" if turn.level is None else str(turn.level)
        score = "" if turn.quality is None else f"{turn.quality:.2f}"
        row = _format_row(turn.turn, turn.tokens_in, turn.tokens_out, turn.seconds, level, score)
        notes = "; ".join(filter(None, ("retried" if turn.retried else None, turn.fallback, turn.error)))
        action = f"{turn.tool or '-'}({', '.join(map(str, turn.arguments.values()))})"
        action = " ".join(f"{action} [{notes}]".split()) if notes else " ".join(action.split())
        room = max(20, _TABLE_WIDTH - len(row))
        lines.append(row + (action if len(action) <= room else action[: room - 1] + "…"))
    scores = [turn.quality for turn in turns if turn.quality is not None]
    mean = f"{sum(scores) / len(scores):.2f}" if scores else ""
    tokens_in, tokens_out = sum(t.tokens_in for t in turns), sum(t.tokens_out for t in turns)
    lines.append(_format_row("all", tokens_in, tokens_out, sum(t.seconds for t in turns), "", mean).rstrip())
    return "\n".join(lines)


def _format_row(
    turn: int | str, tokens_in: int, tokens_out: int, seconds: float, level: str, score: str
) -> str:
    return f"{turn:>4} {tokens_in:>7} {tokens_out:>6} {seconds:>6.1f} {level:>5} {score:>5}  "
