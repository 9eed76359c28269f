"""Measure how many kinds of secrets redaction catches, and how often it redacts ordinary text.

python -m tests.audit.secrets                     # recall by kind, held-out kinds, false alarms
python -m tests.audit.secrets --lines 2000000     # false alarms on more lines
python -m tests.audit.secrets --data data/eval    # and on the prose of the evaluation sets

Every kind is put into log lines, tool results, chats and code. A secret is caught where no eight characters
in a row of it are left. Secrets are made at run time from a seed (secrets_formats.py, secrets_lines.py). A
false alarm is a line that redaction changes, unless somebody has read it and found a credential in it
(secrets_judged.py); both counts are printed, and `--show` prints the lines.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tersely_agents.redaction import redact
from tests.audit.secrets_formats import BARE, NAMED, fill
from tests.audit.secrets_judged import fingerprint, holds_a_credential
from tests.audit.secrets_lines import KEYS, LINES

Redact = Callable[[str], str]
_MARK = re.compile(r"\[redacted: [a-z ]+\]")

_PLACES = (
    "2031-02-03 10:11:12,345 INFO worker-3 calling the service with {} (attempt 2)",
    '{{"status": "ok", "stdout": "using {}\\n", "code": 0}}',
    "This is what I use at the moment: {}. Please write the tests for it.",
    'client = Client("{}", timeout=30)',
)
_LONG_PLACES = (
    "2031-02-03 10:11:12,345 INFO worker-3 read the file\n{}\n2031-02-03 10:11:13 INFO done",
    "I use this one:\n```\n{}\n```\nPlease write the tests for it.",
    'KEY = """{}"""\nclient = Client(KEY)',
)


@dataclass(frozen=True)
class Sample:
    kind: str
    secret: str
    """The secrets that must not be left."""
    text: str
    size: int
    """Number of characters of `text` that redaction may take away."""

    def is_caught(self, redacted: str) -> bool:
        """Return whether no eight characters in a row of the secret are left."""
        for line in self.secret.split("\n"):
            width = min(8, len(line))
            if not line.startswith("-----") and any(
                line[i : i + width] in redacted for i in range(len(line) - width + 1)
            ):
                return False
        return True


def kinds() -> list[str]:
    """Return all kinds, in alphabetical order."""
    return sorted([*BARE, *NAMED, *LINES, *KEYS], key=str.lower)


def held_out() -> set[str]:
    """Return every third kind. The rules were written without a look at these kinds."""
    return set(kinds()[2::3])


def samples(kind: str, rng: random.Random, rounds: int = 1) -> Iterator[Sample]:
    """Yield one sample for every place in which a secret of this kind may be, `rounds` times."""
    for _ in range(rounds):
        yield from _samples(kind, rng)


def _samples(kind: str, rng: random.Random) -> Iterator[Sample]:
    if kind in BARE:
        for place in _PLACES:
            secret = fill(rng, BARE[kind])
            yield Sample(kind, _core(kind, secret), place.format(secret), len(secret))
    elif kind in NAMED:
        form, upper, lower = NAMED[kind]
        for place in _named_places(upper, lower):
            secret = fill(rng, form)
            yield Sample(kind, secret, place.format(secret), len(secret))
    elif kind in LINES:
        form, *lines = LINES[kind]
        for line in lines:
            for place in ("{}", "10:11:12 DEBUG step 3\n{}\n10:11:13 DEBUG step 4"):
                secret = fill(rng, form)
                yield Sample(kind, secret, place.format(line.format(secret)), len(secret))
            secret = fill(rng, form)
            text = json.dumps({"stdout": line.format(secret), "code": 0})
            yield Sample(kind, secret, text, len(secret))
    else:
        for place in _LONG_PLACES:
            secret = KEYS[kind](rng)
            yield Sample(kind, secret, place.format(secret), len(secret))
        secret = KEYS[kind](rng)
        escaped = json.dumps(secret)[1:-1]
        yield Sample(kind, secret, json.dumps({"stdout": f"{secret}\n", "code": 0}), len(escaped))


def _named_places(upper: str, lower: str) -> tuple[str, ...]:
    words = lower.replace("_", " ")
    return (
        f"DEBUG=1\n{upper}={{}}\nPORT=8000",
        f"export {upper}='{{}}'",
        f'{{{{"region": "eu", "{lower}": "{{}}"}}}}',
        f"config:\n  {lower}: {{}}\n  region: eu",
        f'client = Client({lower}="{{}}", timeout=30)',
        f"2031-02-03 10:11:12 DEBUG settings {lower}={{}} region=eu",
        f"The {words} is {{}}. Please write the tests for it.",
    )


def _core(kind: str, secret: str) -> str:
    """Return the secret part of a connection string or an address."""
    if kind == "Azure SAS signature":
        return secret.partition("&sig=")[2].removesuffix("%3D")
    if kind.endswith("webhook"):
        return [part for part in secret.split("/") if part][-1][-24:]
    if kind in ("Azure storage connection string", "Azure Service Bus connection string"):
        return secret.partition("Key=")[2].rstrip("=;")
    if "://" in secret:
        return secret.partition("@")[0].rpartition(":")[2]
    return secret


def recall(redact: Redact, rounds: int = 5, seed: int = 1) -> dict[str, tuple[float, float, str]]:
    """Return three values for each kind: the share of secrets caught, the share in which nothing else is
    gone, and a text with a missed secret."""
    result: dict[str, tuple[float, float, str]] = {}
    for kind in kinds():
        rng = random.Random(f"{seed} {kind}")
        caught = whole = total = 0
        missed = ""
        for sample in samples(kind, rng, rounds):
            redacted = redact(sample.text)
            total += 1
            whole += _is_whole(sample, redacted)
            if sample.is_caught(redacted):
                caught += 1
            else:
                missed = missed or sample.text
        result[kind] = caught / total, whole / total, missed
    return result


def _is_whole(sample: Sample, redacted: str) -> bool:
    """Return whether only the secret is gone."""
    left = len(_MARK.sub("", redacted))
    ends = 64 if "PRIVATE KEY-----" in sample.text else 0
    return left >= len(sample.text) - sample.size - ends


def corpora() -> dict[str, list[Path]]:
    """Return files of text that every machine has, by kind."""
    paths = sysconfig.get_paths()
    library, packages = Path(paths["stdlib"]), Path(paths["purelib"])
    own = [p for p in library.rglob("*.py") if "site-packages" not in p.parts]
    names = ("LICEN*", "COPYING*", "NOTICE*", "METADATA", "*.md", "*.rst", "*.txt", "AUTHORS*")
    prose = {p for name in names for p in packages.rglob(name) if p.is_file()}
    return {
        "standard library": sorted(own),
        "packages' source": sorted(packages.rglob("*.py")),
        "packages' prose": sorted(prose),
    }


def read(files: list[Path], most: int) -> Iterator[str]:
    """Yield texts of the files, in an order that depends on the seed, until they have so many lines."""
    count = 0
    for file in random.Random(1).sample(files, len(files)):
        try:
            text = file.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        yield text
        count += text.count("\n")
        if count >= most:
            return


def read_sets(folder: Path, most: int) -> Iterator[str]:
    """Yield the questions and passages in sets of JSON lines, one on a line, until they have so many
    lines."""
    count = 0
    for file in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as records:
            for record in records:
                passages = [text for text in _strings(json.loads(record)) if len(text) >= 40 and " " in text]
                yield "".join(f"{text}\n" for text in passages)
                count += sum(text.count("\n") + 1 for text in passages)
                if count >= most:
                    return


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def false_alarms(redact: Redact, texts: Iterable[str]) -> tuple[int, int, list[tuple[str, str]]]:
    """Return the numbers of lines and characters read, and each line that redaction changes, before and after
    it."""
    changed: list[tuple[str, str]] = []
    count = size = 0
    for text in texts:
        count += text.count("\n")
        size += len(text)
        if (redacted := redact(text)) != text:
            before, after = text.split("\n"), redacted.split("\n")
            changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
            for tag, i, j, k, m in changes:
                if tag != "equal":
                    changed += zip_longest(before[i:j], after[k:m], fillvalue="")
    return count, size, changed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=300_000, help="lines of each corpus for false alarms")
    parser.add_argument("--rounds", type=int, default=5, help="samples of a kind for each place")
    parser.add_argument("--show", action="store_true", help="print every line that is a false alarm")
    parser.add_argument("--data", type=Path, help="folder of sets (*.jsonl.gz) whose prose is read too")
    args = parser.parse_args()
    report(redact, args.lines, args.rounds, show=args.show, data=args.data)


def report(redact: Redact, most: int, rounds: int, *, show: bool, data: Path | None = None) -> None:
    """Print recall and false alarms."""
    result, unseen = recall(redact, rounds), held_out()
    for kind, (caught, whole, _) in result.items():
        mark = "*" if kind in unseen else " "
        print(f"{mark} {kind:40} caught {caught:6.1%}  nothing else gone {whole:6.1%}")
    groups = {
        "all": list(result),
        "held out (*)": sorted(unseen),
        "others": [k for k in result if k not in unseen],
    }
    for name, members in groups.items():
        mean = sum(result[kind][0] for kind in members) / len(members)
        full = sum(result[kind][0] >= 0.95 for kind in members)
        print(
            f"{name}: {len(members)} kinds, recall {mean:.1%}, {full} kinds caught in 95 % of places or more"
        )
    kinds_of_text = {name: read(files, most) for name, files in corpora().items()}
    if data is not None:
        kinds_of_text["sets"] = read_sets(data, most)
    for name, found in kinds_of_text.items():
        texts = list(found)
        started = time.perf_counter()
        count, size, changed = false_alarms(redact, texts)
        seconds = time.perf_counter() - started
        unread = [pair for pair in changed if not holds_a_credential(pair[0])]
        in_100_000 = 100_000 / max(count, 1)
        print(
            f"{name}: {count} lines, {len(changed)} changed ({len(changed) * in_100_000:.2f} in 100,000), of "
            f"which {len(changed) - len(unread)} hold a credential by sight; {len(unread)} others "
            f"({len(unread) * in_100_000:.2f} in 100,000), {size / seconds / 1e6:.1f} MB/s"
        )
        for line, redacted in changed if show else ():
            print(f"    {fingerprint(line)} {line.strip()[:200]}\n    {redacted.strip()[:200]}")


if __name__ == "__main__":
    main()
