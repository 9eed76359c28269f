"""Tables of measured numbers: how every benchmark prints, records and reads back its results.

A benchmark makes `Table`s. A `Record`, one JSON file of `baselines/`, adds the facts that a reader needs to
judge them: command, hardware, versions, seed and model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from benchmarks.shared.environment import Environment
from benchmarks.shared.statistics import Estimate, bootstrap_mean, estimate_share

Values: TypeAlias = tuple[float | None, ...]
"""One number per case; None for a case without a number."""
Cell: TypeAlias = str | int | float | Estimate | Values | None
Row: TypeAlias = Mapping[str, Cell]

SCALES = {"%": 100, "points": 100}
"""Factor for a share, by the unit that it is printed in."""
FORMATS = {"%": ".1f", "points": "+.1f"}
"""Format of a number by its unit, for columns that set none."""
NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its unit, and how its cells are printed."""

    name: str
    unit: str = ""
    """Printed in the heading. Values in "%" and "points" are shares and are printed times 100."""
    format: str = ""
    """Format specification of a number, as in `format(value, ".2f")`."""
    interval: Literal["", "wilson", "bootstrap"] = ""
    """Method of the 95 % interval; "" for a column without one. Cells are `Estimate`s, or the values of all
    cases, from which mean and interval are computed when they are printed."""
    printed: bool = True
    """False for numbers that are recorded only."""

    @property
    def heading(self) -> str:
        """Name and unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def format_cell(self, cell: Cell, seed: int) -> str:
        """Return the printed form of a cell. `seed` is the seed of the bootstrap."""
        value = self._estimate(cell, seed) if isinstance(cell, tuple) else cell
        if value is None or isinstance(value, str):
            return value or NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Estimate):
            number, low, high = map(self._format, (value.value, value.low, value.high))
            return f"{number} [{low}, {high}]"
        return self._format(value)

    def _format(self, number: float) -> str:
        return format(SCALES.get(self.unit, 1) * number, self.format or FORMATS.get(self.unit, ""))

    def _estimate(self, values: Values, seed: int) -> Estimate | None:
        known = [value for value in values if value is not None]
        if not known:
            return None
        if self.interval == "wilson":
            return estimate_share(sum(known), len(known))
        return bootstrap_mean(known, seed)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of named cells under columns.

    Raises:
        ValueError: a row lacks a column, has an unknown one, or has several numbers where one belongs.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    across: str = ""
    """A column: its values become the columns of the printed table. The columns before it name the printed
    rows, and those after it fill the cells."""
    printed: bool = True
    """False for a table that is recorded only."""
    only: Mapping[str, Sequence[str | float]] = field(default_factory=dict[str, Sequence[str | float]])
    """For some columns, the values that are printed. Rows with other values are recorded only."""

    def __post_init__(self) -> None:
        expected = {column.name: column for column in self.columns}
        for row in self.rows:
            if row.keys() != expected.keys():
                raise ValueError(f"{self.title}: a row has {sorted(row)}, the columns are {sorted(expected)}")
            for name, cell in row.items():
                if isinstance(cell, tuple | Estimate) and not expected[name].interval:
                    raise ValueError(f"{self.title}: {name} has several numbers but no interval")

    def select(self, **cells: Cell) -> list[Row]:
        """Return the rows that have these cells."""
        return [row for row in self.rows if all(row[name] == cell for name, cell in cells.items())]

    def find(self, **cells: Cell) -> Row:
        """Return the only row with these cells. Raises ValueError unless there is exactly one."""
        found = self.select(**cells)
        if len(found) != 1:
            raise ValueError(f"{self.title} has {len(found)} rows with {cells}")
        return found[0]

    def to_markdown(self, seed: int, *, titled: bool = True) -> str:
        """Return the printed columns as a Markdown table under its title.

        A single row becomes one line with its title. `titled=False` leaves out the title, except that of a
        single row, or with `across`, because it then says how to read the cells.
        """
        columns = [column for column in self.columns if column.printed]
        rows = [row for row in self.rows if all(row[name] in values for name, values in self.only.items())]
        if not self.across:
            cells = [[c.format_cell(row[c.name], seed) for c in columns] for row in rows]
            if len(rows) == 1:
                pairs = [f"{c.heading}: {cell}" for c, cell in zip(columns, cells[0], strict=True)]
                return f"**{self.title}**: {'; '.join(pairs)}"
            table = join_markdown([c.heading for c in columns], cells)
            return f"**{self.title}**\n\n{table}" if titled else table
        split = [column.name for column in columns].index(self.across)
        keys, spread, values = columns[:split], columns[split], columns[split + 1 :]
        grid: dict[tuple[str, ...], dict[str, str]] = {}
        for row in rows:
            place = tuple(column.format_cell(row[column.name], seed) for column in keys)
            shown = [column.format_cell(row[column.name], seed) for column in values]
            heading = spread.format_cell(row[spread.name], seed)
            grid.setdefault(place, {})[heading] = " / ".join(shown)
        headings = list(dict.fromkeys(heading for cells in grid.values() for heading in cells))
        filled = [[*place, *(cells.get(h, NOTHING) for h in headings)] for place, cells in grid.items()]
        title = f"**{self.title}** by {spread.heading}: {' / '.join(column.heading for column in values)}"
        return f"{title}\n\n{join_markdown([*(column.heading for column in keys), *headings], filled)}"

    def to_json(self) -> str:
        """Return the table as JSON, one row per line."""
        settings: dict[str, Any] = {"title": self.title, "across": self.across, "printed": self.printed}
        if self.only:
            settings["only"] = {name: list(values) for name, values in self.only.items()}
        head = json.dumps(settings)
        columns = _join_lines([json.dumps(asdict(column)) for column in self.columns])
        names = [column.name for column in self.columns]
        rows = _join_lines([_dump([_encode(row[name]) for name in names]) for row in self.rows])
        return f'{head[:-1]},\n "columns": {columns},\n "rows": {rows}}}'

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Table:
        """Return the table that `to_json` wrote, from the value that `json.loads` read."""
        columns = tuple(Column(**column) for column in value["columns"])
        rows = tuple(
            {c.name: _decode(cell, c) for c, cell in zip(columns, row, strict=True)} for row in value["rows"]
        )
        only = {name: tuple(values) for name, values in value.get("only", {}).items()}
        return cls(value["title"], columns, rows, value["across"], value["printed"], only)


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a benchmark: its tables, and the values that they depend on."""

    benchmark: str
    command: str
    """The command that measures it again."""
    environment: Environment
    seed: int
    tables: tuple[Table, ...]
    model: str | None = None
    """Name and fingerprint of the model that was measured; None if it does not matter."""
    settings: Mapping[str, str | int | float] = field(default_factory=dict[str, str | int | float])
    """Other values that the numbers depend on, by name."""

    def find(self, title: str) -> Table:
        """Return the table with this title. Raises ValueError if no table has it."""
        for table in self.tables:
            if table.title == title:
                return table
        raise ValueError(f"{self.benchmark} has no table {title!r}")

    def to_markdown(self, note: str = "", machine: str = "") -> str:
        """Return command, model, hardware, date and all printed tables.

        `note` comes before the tables. `machine` is a name in place of hardware and versions.
        """
        settings = [
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.settings.items()
        ]
        head = [f"`{self.command}`", self.model or "no model", *settings, f"seed {self.seed}"]
        printed = [table for table in self.tables if table.printed]
        tables = [table.to_markdown(self.seed, titled=len(printed) > 1) for table in printed]
        machine = machine or self.environment.describe()
        # A list cannot follow a line of text, but another line can.
        gap = "\n\n" if note.startswith("- ") else "\n"
        measured = f"{'; '.join(head)}. {machine}; {self.environment.date}."
        return "\n\n".join([gap.join(filter(None, (measured, note))), *tables])

    def write(self, path: Path) -> None:
        """Write the record as JSON. Creates the folder if it is missing."""
        head = {
            "benchmark": self.benchmark,
            "command": self.command,
            "model": self.model,
            "seed": self.seed,
            "settings": dict(self.settings),
            "environment": asdict(self.environment),
        }
        lines = [f" {json.dumps(name)}: {_dump(value)}" for name, value in head.items()]
        tables = ",\n".join(table.to_json() for table in self.tables)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "{\n" + ",\n".join([*lines, f' "tables": [\n{tables}\n]']) + "\n}\n"
        path.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Record:
        """Return the record that `write` wrote to `path`."""
        value = json.loads(path.read_text(encoding="utf-8"))
        tables = tuple(Table.from_json(table) for table in value.pop("tables"))
        environment = Environment(**value.pop("environment"))
        return cls(**value, environment=environment, tables=tables)


def join_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _join_lines(lines: Sequence[str]) -> str:
    return "[\n  " + ",\n  ".join(lines) + "\n ]" if lines else "[]"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _encode(cell: Cell) -> Any:
    return {"value": cell.value, "low": cell.low, "high": cell.high} if isinstance(cell, Estimate) else cell


def _decode(value: Any, column: Column) -> Cell:
    if isinstance(value, dict):
        return Estimate(**cast("dict[str, float]", value))
    return tuple(cast("list[float | None]", value)) if isinstance(value, list) else value
