# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""A git repository whose hashes are the same everywhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_COMMITS: tuple[tuple[str, str, str, dict[str, tuple[str, str]]], ...] = (
    ("Nadia Haddad", "2025-09-02T09:14:00+02:00", "Read sensors over Modbus", {}),
    ("Nadia Haddad", "2025-09-04T17:40:00+02:00", "Retry a read that timed out", {
        "src/reader.py": ("    return bus.read(address)\n",
            "    for attempt in range(RETRIES):\n        try:\n            return bus.read(address)\n"
            "        except TimeoutError:\n            time.sleep(0.2 * 2**attempt)\n    raise SensorSilent(address)\n"),
    }),
    ("Piotr Zielinski", "2025-09-11T11:05:00+02:00", "Store readings in hourly files", {
        "src/store.py": ("FORMAT = \"%Y-%m-%d\"", "FORMAT = \"%Y-%m-%dT%H\""),
    }),
    ("Yuki Tanaka", "2025-09-19T08:31:00+02:00", "Add a table of alarms to the page", {
        "web/page.html": ("<!-- alarms -->", "<table id=\"alarms\"><tr><th>Since</th><th>Sensor</th></tr></table>"),
    }),
    ("Piotr Zielinski", "2025-10-01T15:22:00+02:00", "Wait longer for slow pumps\n\nPumps of type KX answer after up to 1.8 s"
        " when their\nbus is shared. Reported by the plant in Ulm.", {
        "src/reader.py": ("TIMEOUT_S = 0.5", "TIMEOUT_S = 2.5"),
    }),
    ("Nadia Haddad", "2025-10-08T10:00:00+02:00", "Alarm when pressure leaves its band", {
        "src/alarms.py": ("BAND = (0.0, 16.0)", "BAND = (1.2, 9.5)"),
        "README.md": ("## Alarms\n", "## Alarms\n\nA reading outside of the band raises an alarm until five good ones follow.\n"),
    }),
    ("Lars Ohlsson", "2025-10-21T13:47:00+02:00", "Do not retry while the bus is reset\n\nThe retries kept the gateway from"
        " finishing its reset, so\na short outage lasted for minutes. The caller now skips\nthe cycle instead. Fixes #214.", {
        "src/reader.py": ("    for attempt in range(RETRIES):\n        try:\n            return bus.read(address)\n"
            "        except TimeoutError:\n            time.sleep(0.2 * 2**attempt)\n    raise SensorSilent(address)\n",
            "    if bus.resetting:\n        raise CycleSkipped(address)\n    return bus.read(address)\n"),
    }),
    ("Yuki Tanaka", "2025-11-03T09:09:00+01:00", "Show times in the plant's zone", {
        "web/page.html": ("<body data-zone=\"UTC\">", "<body data-zone=\"Europe/Berlin\">"),
    }),
    ("Piotr Zielinski", "2025-11-14T16:58:00+01:00", "Compress files older than a week", {
        "src/store.py": ("KEEP_PLAIN_DAYS = None", "KEEP_PLAIN_DAYS = 7"),
    }),
    ("Lars Ohlsson", "2025-12-01T12:30:00+01:00", "Pin the gateway's firmware to 3.8\n\n3.9 swaps the two words of"
        " 32-bit registers.", {
        "deploy/gateway.ini": ("firmware = latest", "firmware = 3.8.2"),
    }),
    ("Nadia Haddad", "2026-01-12T08:45:00+01:00", "Mute alarms during maintenance", {
        "src/alarms.py": ("def raise_alarm(sensor, value):\n",
            "def raise_alarm(sensor, value):\n    if sensor.plant in MAINTENANCE:\n        return\n"),
    }),
    ("Yuki Tanaka", "2026-02-02T14:14:00+01:00", "Lower the refresh of the page to 15 seconds", {
        "web/page.html": ("content=\"60\"", "content=\"15\""),
    }),
    ("Piotr Zielinski", "2026-02-20T10:20:00+01:00", "Send alarms by SMS through the new provider", {
        "deploy/gateway.ini": ("sms = nexatel", "sms = bluewave"),
        "src/alarms.py": ("SMS_URL = \"https://api.nexatel.example/send\"", "SMS_URL = \"https://bluewave.example/v2/messages\""),
    }),
)  # fmt: skip


_PLANTS = ("Ulm", "Celle", "Bonn", "Emden", "Trier", "Halle", "Jena", "Gera", "Kiel", "Fulda", "Hof", "Worms")


_REASONS = (
    "The old value came from the data sheet of the previous model.",
    "Compared with a hand-held gauge on site; the offset is constant.",
    "The transmitter was replaced and counts in other steps.",
    "Agreed with the plant's engineer on the phone.",
)


def _calibrations() -> list[tuple[str, str, str, dict[str, tuple[str, str]]]]:
    """Return a commit a plant that scales one of its registers anew."""
    return [
        (
            ("Lars Ohlsson", "Yuki Tanaka", "Nadia Haddad")[number % 3],
            f"2025-09-{number * 2 + 5:02d}T1{number % 9}:2{number % 6}:00+02:00",
            f"Calibrate the flow meter {number:02d} of {plant}\n\n{_REASONS[number % 4]}",
            {
                "src/reader.py": (
                    f'"flow_{number * 4 + 1:02d}", unit="m3/h", scale=0.1)',
                    f'"flow_{number * 4 + 1:02d}", unit="m3/h", scale=0.{1000 + number * 37 % 90})',
                )
            },
        )
        for number, plant in enumerate(_PLANTS)
    ]


def _first_files() -> dict[str, str]:
    registers = "\n".join(
        f'    Register({40001 + number * 2}, "{kind}_{number:02d}", unit="{unit}", scale={scale}),'
        for number, (kind, unit, scale) in enumerate(
            [
                ("pressure", "bar", 0.01),
                ("flow", "m3/h", 0.1),
                ("level", "mm", 1),
                ("temperature", "degC", 0.1),
            ]
            * 16
        )
    )
    return {
        "README.md": "# pumpwatch\n\nReads the pumps of a water works and raises alarms.\n\n## Alarms\n",
        "src/reader.py": (
            '"""Reads registers over Modbus."""\n\nimport time\n\nTIMEOUT_S = 0.5\nRETRIES = 4\n\n\n'
            "class SensorSilent(Exception):\n    pass\n\n\nclass CycleSkipped(Exception):\n    pass\n\n\n"
            "def read(bus, address):\n    return bus.read(address)\n\n\n"
            f"REGISTERS = [\n{registers}\n]\n"
        ),
        "src/store.py": (
            '"""Writes readings to files."""\n\nFORMAT = "%Y-%m-%d"\nKEEP_PLAIN_DAYS = None\n\n\n'
            'def path_of(folder, time):\n    return folder / f"{time:{FORMAT}}.csv"\n\n\n'
            'def append(folder, time, values):\n    with path_of(folder, time).open("a") as file:\n'
            '        file.write(",".join(map(str, values)) + "\\n")\n'
        ),
        "src/alarms.py": (
            '"""Raises alarms."""\n\nBAND = (0.0, 16.0)\nMAINTENANCE = set()\n'
            'SMS_URL = "https://api.nexatel.example/send"\n\n\n'
            'def raise_alarm(sensor, value):\n    post(SMS_URL, text=f"{sensor.name} is at {value} {sensor.unit}")\n'
        ),
        "web/page.html": (
            '<!DOCTYPE html>\n<head><meta http-equiv="refresh" content="60"></head>\n<body data-zone="UTC">\n'
            "<!-- alarms -->\n</body>\n"
        ),
        "deploy/gateway.ini": "[gateway]\nfirmware = latest\nbaud = 19200\nparity = even\n\n[alarms]\nsms = nexatel\n",
    }


def write_repository(folder: Path) -> None:
    """Build a git repository whose hashes are the same everywhere."""
    files = _first_files()

    def git(*words: str, when: str = "", who: str = "") -> None:
        name = who or "Nadia Haddad"
        address = name.lower().replace(" ", ".") + "@pumpwatch.example"
        people = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")
                  for part, value in (("NAME", name), ("EMAIL", address), ("DATE", when))}  # fmt: skip
        settings = {
            **os.environ,
            **people,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
        }
        subprocess.run(["git", *words], cwd=folder, env=settings, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch=main")
    for who, when, message, changes in sorted((*_COMMITS, *_calibrations()), key=lambda commit: commit[1]):
        for path, (old, new) in changes.items():
            if old not in files[path]:
                raise ValueError(f"{message!r} changes text that is not in {path}")
            files[path] = files[path].replace(old, new)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        git("add", "--all")
        git("-c", "commit.gpgsign=false", "commit", "--quiet", "-m", message, when=when, who=who)
