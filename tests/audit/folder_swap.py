"""Count the files from outside that leak while folders are swapped for links.

    python -m tests.audit.folder_swap --swaps 200000

One process replaces an allowed folder or file with a link to an outside one, and puts it back, again and
again.
Meanwhile this process reads through `Folders`, by paths and by patterns. A leak is a text from outside.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from multiprocessing.synchronize import Event
from pathlib import Path

from tersely import InvalidInputError
from tersely_mcp.folders import Folders

INSIDE = "The harbour was dug in 1871."
OUTSIDE = "The password is swordfish."
NAMES = ["town/a.md", "town/deep/a.md", "a.md", "notes/town/a.md", "**/*.md", "town/*.md", "*/deep/*.md"]


def make_tree(base: Path) -> Path:
    """Make an allowed folder, and next to it one of the same shape with secrets; return the allowed one."""
    for root, text in (("notes", INSIDE), ("secret", OUTSIDE)):
        for folder in ("", "town", "town/deep"):
            (base / root / folder).mkdir(parents=True, exist_ok=True)
            (base / root / folder / "a.md").write_text(text, encoding="utf-8")
    return base / "notes"


def swap(notes: Path, swaps: int, first: Event, done: Event) -> None:
    """Replace a folder, a folder in it, and a file with links, and put the originals back."""
    targets = [(notes / part, notes.parent / "secret" / part) for part in ("town", "town/deep", "a.md")]
    for number in range(swaps):
        place, outside = targets[number % len(targets)]
        aside = notes.parent / "aside"
        place.rename(aside)
        os.symlink(outside, place)
        first.set()
        place.unlink()
        aside.rename(place)
    done.set()


def count_leaks(swaps: int) -> tuple[int, int, int]:
    """Return (reads, refusals, leaks) during that many swaps."""
    reads = refusals = leaks = 0
    with tempfile.TemporaryDirectory() as base:
        notes = make_tree(Path(base))
        folders = Folders([notes])
        context = multiprocessing.get_context("spawn")
        first, done = context.Event(), context.Event()
        process = context.Process(target=swap, args=(notes, swaps, first, done))
        process.start()
        first.wait()
        while not done.is_set() and process.is_alive():
            for name in NAMES:
                try:
                    documents = folders.read([name]).documents
                except InvalidInputError as error:
                    refusals += 1
                    leaks += OUTSIDE in str(error)
                    continue
                reads += 1
                leaks += sum(document.text != INSIDE for document in documents)
        process.join()
        if process.exitcode:
            raise RuntimeError("the process that swaps has failed")
    return reads, refusals, leaks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--swaps", type=int, default=200_000)
    swaps = parser.parse_args().swaps
    reads, refusals, leaks = count_leaks(swaps)
    print(f"{swaps} swaps, {reads} reads, {refusals} refusals, {leaks} leaks")
    return int(leaks > 0)


if __name__ == "__main__":
    sys.exit(main())
