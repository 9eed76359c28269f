"""Formats of files that are installed on this machine: settings, documentation, licences."""

from __future__ import annotations

import functools
import gzip
import os
import re
import sysconfig
from collections.abc import Callable
from pathlib import Path

from tests.audit.foreign_draw import Draw, Missing, form
from tests.audit.foreign_readers import Reader, flat, outline, with_comments
from tests.audit.foreign_texts import definitions, markdown, numbered, package_metadata, restructured, roff
from tests.audit.foreign_trees import LOADERS

PATHS = sysconfig.get_paths()
ROOTS = [
    PATHS["purelib"],
    PATHS["stdlib"],
    "/usr/share/doc",
    *sorted(map(str, Path("/usr/share").glob("cmake-*"))),
    "/usr/lib/node_modules",
    "/usr/share/mime",
    "/usr/lib/google-cloud-sdk/lib/surface",
    "/usr/share/common-licenses",
    "/usr/lib/systemd",
    "/usr/share/man/man1",
    "/usr/lib/jvm",
    "/etc",
]
LARGEST = 4000
SMALLEST = 300


@functools.cache
def files() -> dict[str, list[Path]]:
    """Return the readable files below `ROOTS` by the end of their names."""
    found: dict[str, list[Path]] = {}
    for root in ROOTS:
        for folder, below, names in os.walk(root):
            below[:] = sorted(
                name for name in below if name not in ("__pycache__", "tersely", "ssl", "javadoc")
            )
            for name in sorted(names):
                ending = (
                    name.rpartition(".")[2] if not name.endswith(".gz") else ".".join(name.split(".")[-2:])
                )
                found.setdefault(ending, []).append(Path(folder) / name)
    return found


def read_one(d: Draw, accept: Callable[[Path], bool], tree: str | None, *endings: str) -> str:
    """Return the text of a file of some size, which parses if it has a parser."""
    paths = [path for ending in endings for path in files().get(ending, ()) if accept(path)]
    if not paths:
        raise Missing(f"no files like {endings[0]}")
    for _ in range(200):
        path = d.choice(paths)
        try:
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            # Style sheets and scripts have formats of their own.
            text = re.sub(r"(?s)<(style|script)\b.*?</\1>", "", raw.decode("utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        if (
            len(text) >= SMALLEST
            and not any(sign in text for sign in ("\0", "{%", "{{"))
            and (tree is None or parses(tree, text))
        ):
            return text
    raise Missing(f"no files like {endings[0]} of a fitting size")


def parses(tree: str, text: str) -> bool:
    try:
        return bool(LOADERS[tree](text)) or tree == "python"
    except Exception:  # noqa: BLE001 - each parser has its own errors
        return False


def shorten(d: Draw, text: str) -> str:
    """Return a part of a long text that begins and ends at blank rows."""
    blocks = text.split("\n\n")
    if len(text) <= LARGEST or len(blocks) < 3:
        return text if len(text) <= 3 * LARGEST else text[:LARGEST].rpartition("\n")[0] + "\n"
    start = d.choice([0, d.randrange(len(blocks))])
    chosen: list[str] = []
    for block in blocks[start:]:
        if chosen and sum(map(len, chosen)) + len(block) > LARGEST:
            break
        chosen.append(block[: 2 * LARGEST])
    return "\n\n".join(chosen) + "\n"


def is_small(path: Path) -> bool:
    return SMALLEST < path.stat().st_size < 2 * LARGEST


def add(
    name: str,
    read: Reader | None,
    *endings: str,
    tree: str | None = None,
    web: bool = False,
    part: str = "",
    whole: bool = True,
) -> None:
    """Register a format of files whose path contains `part`; files that may not be `whole` are shortened."""

    def make(d: Draw) -> str:
        text = read_one(
            d,
            lambda path: part in str(path) and "/gcloud_" not in str(path) and (not whole or is_small(path)),
            tree,
            *endings,
        )
        return text if whole else shorten(d, text)

    form(name, read, tree, web)(make)


add("yaml file", with_comments(flat), "yaml", "yml", tree="yaml")
add("toml file", with_comments(outline(r"\[+[\w.\"' -]+\]+")), "toml", tree="toml")
add("ini file", with_comments(outline(r"\[")), "ini", "cfg", tree="ini")
add("json file", None, "json", tree="json")
add("xml file", flat, "xml", tree="xml")
add("html file", None, "html", web=True)
add("properties file", with_comments(flat), "properties")
add("systemd unit", with_comments(outline(r"\[")), "service", "timer", "socket")
add("markdown file", markdown, "md", whole=False)
add("rst file", restructured, "rst", whole=False)
add("roff source", roff, "1.gz", whole=False)
add("c header", flat, "h", whole=False)
add("python source", flat, "py", tree="python")
add(
    "debian changelog",
    outline(r"\S.* \(.*\) .*; urgency=", r"(  [*-] | -- )", prose=True),
    "Debian.gz",
    whole=False,
)
add("package metadata", package_metadata, "METADATA", whole=False)
add(
    "cron file",
    with_comments(flat),
    "crontab",
    "anacrontab",
    "apt-compat",
    "man-db",
    part="cron",
    whole=False,
)


@form("licence", numbered)
def licence(d: Draw) -> str:
    folder = Path("/usr/share/common-licenses")
    if not folder.exists():
        raise Missing(f"no {folder}")
    return shorten(d, d.choice(sorted(path for path in folder.iterdir() if path.is_file())).read_text())


@form("copyright file", definitions)
def copyright_file(d: Draw) -> str:
    paths = sorted(Path("/usr/share/doc").glob("*/copyright"))
    if not paths:
        raise Missing("no /usr/share/doc/*/copyright")
    return shorten(d, d.choice(paths).read_text(errors="replace"))
