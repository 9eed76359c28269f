# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""A small SQLite database."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random


def write_database(folder: Path) -> None:
    """Fill `clinic.db`, a database of five tables."""
    random = Random(31)
    with sqlite3.connect(folder / "clinic.db") as database:
        database.executescript(_SCHEMA)
        for number in range(1, 121):
            kind = random.choice(("check-up", "x-ray", "vaccination", "blood test", "physio"))
            room = random.choice(("A1", "A2", "B7", "C3"))
            cost = random.randint(20, 400) * 50
            state = random.choice(("booked", "arrived", "done", "done", "cancelled"))
            note = {
                17: "allergic to latex",
                63: "needs interpreter: Tigrinya",
                98: "wheelchair, ramp at gate 4",
            }.get(number, "")
            database.execute(
                "INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    number,
                    5000 + random.randint(1, 90),
                    kind,
                    room,
                    f"2026-03-{number % 28 + 1:02d}",
                    state,
                    note,
                ),
            )
            database.execute(
                "INSERT INTO charges VALUES (?, ?, ?)", (number, cost, random.choice(("AOK", "TK", "self")))
            )


_SCHEMA = "\n".join(
    (
        "CREATE TABLE patients (id INTEGER PRIMARY KEY, family_name TEXT NOT NULL, born DATE, insurer TEXT,"
        " CHECK (born > '1900-01-01'));",
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, patient INTEGER REFERENCES patients(id) ON DELETE RESTRICT,"
        " kind TEXT, room TEXT, day DATE, state TEXT DEFAULT 'booked', note TEXT);",
        "CREATE TABLE charges (visit INTEGER REFERENCES visits(id) ON DELETE CASCADE, cents INTEGER, payer TEXT);",
        "CREATE TABLE rooms (name TEXT PRIMARY KEY, floor INTEGER, seats INTEGER CHECK (seats BETWEEN 1 AND 14));",
        "CREATE TABLE audit (at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, actor TEXT, action TEXT, subject INTEGER);",
        "CREATE UNIQUE INDEX one_room_a_day ON visits (room, day, id);",
        "CREATE INDEX charges_by_payer ON charges (payer) WHERE cents > 0;",
        "CREATE VIEW open_charges AS SELECT visits.id, patient, cents FROM visits JOIN charges ON charges.visit = visits.id"
        " WHERE state = 'done' AND payer = 'self';",
        "CREATE TRIGGER keep_done BEFORE DELETE ON visits WHEN old.state = 'done'"
        " BEGIN SELECT RAISE(ABORT, 'finished visits are kept for ten years'); END;",
    )
)
