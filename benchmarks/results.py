"""What every benchmark writes: its environment, a JSON file, and its marked section of RESULTS.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tersely.errors import TerselyError
from tersely.runtime.session import usable_cores

RESULTS = Path(__file__).parent / "RESULTS.md"
BASELINES = Path(__file__).parent / "baselines"
_INT8 = {"amx_int8": "AMX", "avx512_vnni": "AVX-512 VNNI", "avx_vnni": "AVX VNNI", "avx2": "AVX2"}
"""Instructions for int8 as Linux names them, and as people do; widest first."""
_PACKAGES = ("tersely", "onnxruntime", "tokenizers", "numpy", "sentencex", "llmslim", "torch", "transformers")


def environment() -> dict[str, Any]:
    """Hardware and versions, for the JSON of a run."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": processor(),
        "cores": usable_cores(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def describe(environment: dict[str, Any]) -> str:
    """The environment in one sentence of Markdown."""
    packages = ", ".join(f"{name} {number}" for name, number in environment["packages"].items())
    return (
        f"{environment['cpu']}, {environment['cores']} cores, {environment['memory_gb']} GB, "
        f"{environment['system']}, Python {environment['python']}; {packages}; {environment['date']}."
    )


def add_out(parser: argparse.ArgumentParser, section: str) -> None:
    """The option --out, whose default is the section's place in `baselines/`."""
    place = _record(section)
    parser.add_argument(
        "--out", type=Path, default=place, help="where the JSON goes; only the default also fills RESULTS.md"
    )


def _record(section: str) -> Path:
    return BASELINES / f"{section}.json"


def publish(
    section: str,
    make: Callable[[], dict[str, Any]],
    markdown: Callable[[dict[str, Any]], str],
    out: Path,
) -> int:
    """Run a benchmark, print its tables and write its JSON; where that goes to its place in `baselines`, fill
    its section of RESULTS.md too.

    Returns 0, or 1 with one line on standard error for anything the caller can mend.
    """
    try:
        result = make()
    except TerselyError as error:
        print(f"benchmarks, {section}: {error}", file=sys.stderr)
        return 1
    print(markdown(result))
    write_json(out, result)
    if out == _record(section):
        fill_section(section, markdown(result))
    return 0


def write_json(path: Path, result: dict[str, Any]) -> None:
    """Write `result` readably; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def fill_section(name: str, markdown: str, path: Path = RESULTS) -> None:
    """Replace the text between `<!-- name:begin -->` and `<!-- name:end -->`. Raises ValueError without
    them."""
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    filled, count = pattern.subn(lambda m: f"{m[1]}\n{markdown.strip()}\n\n{m[2]}", text)
    if count != 1:
        raise ValueError(f"{path} needs exactly one section marked {name}:begin and {name}:end")
    path.write_text(filled, encoding="utf-8")


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _version(package: str) -> str | None:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return None


def processor(info: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name and the widest of its instructions for int8, on which the model's speed hangs and
    which virtual machines of one name do not share."""
    name = platform.processor() or platform.machine()
    if not info.is_file():
        return name
    fields = dict(
        re.findall(r"^(model name|flags)\s*:\s*(.+)$", info.read_text(encoding="utf-8"), re.MULTILINE)
    )
    name = fields.get("model name", name).strip()
    flags = fields.get("flags", "").split()
    widest = next((title for flag, title in _INT8.items() if flag in flags), None)
    return f"{name} with {widest}" if widest else name
