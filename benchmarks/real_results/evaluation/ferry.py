# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
# fmt: off
"""A git repository with branches, a merge and tags, whose hashes are the same everywhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_STOPS = ("Kai", "Werft", "Dom", "Markt", "Insel", "Schleuse", "Mole", "Fischhalle", "Leuchtturm", "Bahnhof", "Zoo", "Fähranleger Nord")


def _write_timetable() -> str:
    days = (("weekdays", "06:10", "22:40", 20), ("saturdays", "07:00", "23:00", 30), ("sundays", "08:20", "21:00", 40), ("fair", "05:30", "01:10", 10))
    return "".join(
        f"{day}:\n" + "".join(f"  - {{stop: {stop}, first: '{first}', last: '{last}', every_min: {every}}}\n" for stop in _STOPS)
        for day, first, last, every in days
    )


_OPERATIONS = """# Running the ticket service

## Start
Run `make up`, then wait for the line "ready" in the log.

## Refunds
A refund over 150 EUR needs a second signature.

## Night
The nightly job starts at 02:15 and takes about 20 minutes.

## Backups
Backups stay 14 days on the NAS.
"""


_SCHEMA = "".join(
    f"CREATE TABLE {name} (\n  id bigint PRIMARY KEY,\n  created timestamptz NOT NULL,\n  note text,\n  amount integer CHECK (amount >= 0)\n);\n\n"
    for name in ("tickets", "fares", "trips", "boats", "crews", "refunds", "vouchers", "gates", "devices", "audits")
)


_VALUES = "".join(
    f"{name}:\n  image: registry.example.org/ferry/{name}:1.4\n  replicas: 2\n  memory: 256Mi\n  probe: /healthz\n  env:\n    LOG: info\n\n"
    for name in ("api", "gate", "refunds", "planner", "display", "mailer", "importer", "web")
)


_FILES = {"docs/OPERATIONS.md": _OPERATIONS, "db/schema.sql": _SCHEMA, "deploy/values.yaml": _VALUES, "data/summer.yaml": _write_timetable()}


# Branch, author, date, message, file, old text, new text.
_COMMITS = (
    ("main", "Aisha Bello", "2026-03-02T09:00:00+01:00", "Import the ticket service", "", "", ""),
    ("main", "Tomás Rey", "2026-03-09T10:12:00+01:00", "Give the planner more memory\n\nIt was killed twice on Saturday, each time while it\nplanned the islands.", "deploy/values.yaml", "planner:1.4\n  replicas: 2\n  memory: 256Mi", "planner:1.4\n  replicas: 2\n  memory: 900Mi"),
    ("main", "Aisha Bello", "2026-03-17T16:40:00+01:00", "Refunds over 80 EUR need two people", "docs/OPERATIONS.md", "over 150 EUR", "over 80 EUR"),
    ("contactless", "Wen Li", "2026-03-20T11:30:00+01:00", "Accept cards at the gate", "deploy/values.yaml", "gate:1.4\n  replicas: 2", "gate:2.0-rc3\n  replicas: 5"),
    ("main", "Tomás Rey", "2026-03-24T08:05:00+01:00", "Keep backups for a season\n\nThe auditors asked for a ticket of May and it was gone.", "docs/OPERATIONS.md", "stay 14 days on the NAS", "stay 200 days in the vault at Emden"),
    ("contactless", "Wen Li", "2026-03-27T19:22:00+01:00", "Store the token of a card, never its number", "db/schema.sql", "CREATE TABLE gates (\n  id bigint PRIMARY KEY,", "CREATE TABLE gates (\n  id bigint PRIMARY KEY,\n  card_token bytea,"),
    ("main", "Ingrid Falk", "2026-04-01T07:50:00+02:00", "Sail until midnight in summer", "data/summer.yaml", "stop: Insel, first: '06:10', last: '22:40'", "stop: Insel, first: '06:10', last: '23:55'"),
    ("main", "Ingrid Falk", "2026-04-03T15:00:00+02:00", "Skip the lock on Mondays\n\nThe lock keeper is off until the end of June.", "data/summer.yaml", "{stop: Schleuse, first: '06:10', last: '22:40', every_min: 20}", "{stop: Schleuse, first: '06:10', last: '22:40', every_min: 20, not: Mon}"),
    ("contactless", "Wen Li", "2026-04-07T09:45:00+02:00", "Wait 700 ms before a gate refuses\n\nCards of two banks answer late on the quay because\nthe reader shares its antenna with the turnstile.", "deploy/values.yaml", "gate:2.0-rc3\n  replicas: 5\n  memory: 256Mi\n  probe: /healthz\n  env:\n    LOG: info", "gate:2.0-rc3\n  replicas: 5\n  memory: 256Mi\n  probe: /healthz\n  env:\n    LOG: info\n    REFUSE_AFTER_MS: 700"),
    ("main", "Tomás Rey", "2026-04-10T12:00:00+02:00", "Move the nightly job\n\nIt collided with the clock change.", "docs/OPERATIONS.md", "starts at 02:15", "starts at 03:40"),
    ("main", "Aisha Bello", "2026-04-14T10:10:00+02:00", "Cap the amount of a voucher\n\nSomebody typed 6000 at the counter in Emden.", "db/schema.sql", "CREATE TABLE vouchers (\n  id bigint PRIMARY KEY,\n  created timestamptz NOT NULL,\n  note text,\n  amount integer CHECK (amount >= 0)", "CREATE TABLE vouchers (\n  id bigint PRIMARY KEY,\n  created timestamptz NOT NULL,\n  note text,\n  amount integer CHECK (amount BETWEEN 0 AND 60)"),
    ("merge", "Aisha Bello", "2026-04-20T09:30:00+02:00", "Merge branch 'contactless'\n\nTested by the harbour crew for two weeks at gate 3.", "", "", ""),
    ("main", "Ingrid Falk", "2026-04-28T17:15:00+02:00", "Show delays in Low German too", "deploy/values.yaml", "display:1.4\n  replicas: 2\n  memory: 256Mi\n  probe: /healthz\n  env:\n    LOG: info", "display:1.4\n  replicas: 2\n  memory: 256Mi\n  probe: /healthz\n  env:\n    LOG: info\n    LANGUAGES: de,en,nds"),
    ("winter", "Tomás Rey", "2026-05-05T08:20:00+02:00", "Halve the trips to the lighthouse", "data/summer.yaml", "stop: Leuchtturm, first: '06:10', last: '22:40', every_min: 20", "stop: Leuchtturm, first: '09:00', last: '16:30', every_min: 90"),
    ("main", "Ingrid Falk", "2026-05-07T13:37:00+02:00", "Add late trips from the lighthouse", "data/summer.yaml", "stop: Leuchtturm, first: '06:10', last: '22:40', every_min: 20", "stop: Leuchtturm, first: '06:10', last: '23:20', every_min: 20"),
)


def write_ferry(folder: Path) -> None:
    """Write the ticket service's repository: two branches, one of them merged, and two tags."""

    def git(*words: str, author: str = "Aisha Bello", date: str = "2026-03-02T09:00:00+01:00") -> None:
        mail = author.split()[0].lower().replace("á", "a") + "@ferry.example"
        settings = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder),
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": mail, "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": mail, "GIT_COMMITTER_DATE": date,
        }
        subprocess.run(["git", *words], cwd=folder, env=settings, check=True, capture_output=True)

    git("init", "-q", "-b", "main", ".")
    git("config", "user.name", "Aisha Bello")
    git("config", "user.email", "aisha@ferry.example")
    for path, text in _FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    current, known = "main", {"main"}
    for branch, author, date, message, path, old, new in _COMMITS:
        if branch == "merge":
            git("merge", "-q", "--no-ff", "-m", message, "contactless", author=author, date=date)
            git("tag", "-a", "v2.0", "-m", "Contactless gates", author=author, date=date)
            continue
        if branch != current:
            git("checkout", "-q", *(() if branch in known else ("-b",)), branch)
            current, known = branch, known | {branch}
        if path:
            text = (folder / path).read_text()
            if old not in text:
                raise ValueError(f"{path} does not hold {old!r}")
            (folder / path).write_text(text.replace(old, new))
        git("add", "-A")
        git("commit", "-q", "-m", message, author=author, date=date)
        if not path:
            git("tag", "-a", "v1.4", "-m", "First release", author=author, date=date)
