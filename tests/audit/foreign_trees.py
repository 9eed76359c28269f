"""Judges of data formats: the result still parses, and its values have the same place as in the source."""

from __future__ import annotations

import ast
import configparser
import csv
import io
import json
import re
import tomllib
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import yaml

from tests.audit.foreign_parts import MARK, Verdict, split_sentences

NAMES = ("name", "id", "title", "key", "operationId", "FN", "SUMMARY")
"""Members that say which record a record is."""


class CsvRows(list[list[str]]):
    """The rows of a CSV file; the first holds the names of the columns."""


def load_yaml(text: str) -> Any:
    loader = yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
    return [document for document in yaml.load_all(text, loader) if document is not None]


def load_json_lines(text: str) -> Any:
    rows = [row for row in text.splitlines() if row.strip() and not is_mark(row)]
    return [json.loads(row) for row in rows]


def load_ini(text: str) -> Any:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=", ":"))
    parser.optionxform = str
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def load_csv(text: str) -> CsvRows:
    return CsvRows(row for row in csv.reader(io.StringIO(text), strict=True) if row)


def load_xml(text: str) -> Any:
    def build(element: ElementTree.Element) -> dict[str, Any]:
        tree: dict[str, Any] = {"tag": element.tag, **{f"@{k}": v for k, v in element.attrib.items()}}
        tree["text"] = [
            t
            for t in (element.text, *(child.tail for child in element))
            if t and t.strip() and not is_mark(t)
        ]
        tree["children"] = [build(child) for child in element]
        return {key: value for key, value in tree.items() if value != []}

    return build(ElementTree.fromstring(text))


def load_blocks(text: str) -> dict[str, list[Any]]:
    """Parse iCalendar and vCard: properties between BEGIN and END."""
    top: dict[str, list[Any]] = {}
    opened: list[tuple[str, dict[str, list[Any]]]] = [("", top)]
    for row in text.splitlines():
        if not row.strip() or is_mark(row):
            continue
        key, _, value = row.partition(":")
        if key == "BEGIN":
            block: dict[str, list[Any]] = {}
            opened[-1][1].setdefault(value, []).append(block)
            opened.append((value, block))
        elif key == "END":
            if opened[-1][0] != value:
                raise ValueError(f"END:{value} closes nothing")
            opened.pop()
        elif len(opened) == 1:
            raise ValueError(f"{row!r} is outside of a block")
        else:
            opened[-1][1].setdefault(key, []).append(value)
    if len(opened) > 1:
        raise ValueError(f"no END:{opened[-1][0]}")
    return top


def load_python(text: str) -> list[Any]:
    """Parse Python; only whether it parses is judged."""
    ast.parse(text)
    return []


LOADERS: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "jsonl": load_json_lines,
    "yaml": load_yaml,
    "toml": tomllib.loads,
    "ini": load_ini,
    "csv": load_csv,
    "xml": load_xml,
    "blocks": load_blocks,
    "python": load_python,
}


def is_mark(value: Any) -> bool:
    """Return whether a key, a value or a row has nothing but a mark."""
    if not isinstance(value, str) or "…" not in value:
        return False
    return not re.search(r"\w", MARK.sub("", value))


def judge_tree(loader: str, source: str, result: str, verdict: Verdict) -> None:
    load = LOADERS[loader]
    try:
        before = load(source)
    except Exception:  # noqa: BLE001 - each parser has its own errors, and such a source promises nothing
        return
    if not result.strip():
        return
    try:
        after = load(result)
    except Exception as error:  # noqa: BLE001
        verdict.add("parses", f"{type(error).__name__}: {error}")
        return
    if isinstance(before, CsvRows):
        judge_csv(before, after, verdict)
        return
    for judge, complaint in compare(before, after, "", marked=loader in ("json",)):
        verdict.add(judge, complaint)


Complaint = tuple[str, str]


def compare(before: Any, after: Any, path: str, marked: bool) -> list[Complaint]:
    """Return how `after` differs from a part of `before`.

    With `marked`, the format shows marks as values, so missing elements need one.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return compare_maps(before, after, path, marked)
    if isinstance(before, list) and isinstance(after, list):
        return compare_lists(before, after, path, marked)
    if isinstance(before, str) and isinstance(after, str):
        return [] if is_excerpt(after, before) else [("heads", f"{path}: {after!r} is not in {before!r}")]
    if type(before) is type(after) and (before == after or before != before):
        return []
    if isinstance(before, dict | list) and before and (after is None or after in ("", {}, [])):
        return [("orphans", f"{path}: nothing of its content")]
    return [("heads", f"{path}: {after!r} is not {before!r}")]


def compare_maps(before: dict[Any, Any], after: dict[Any, Any], path: str, marked: bool) -> list[Complaint]:
    found: list[Complaint] = []
    kept = [key for key in after if not is_mark(key)]
    for key in kept:
        if key not in before:
            found.append(("heads", f"{path}: no {key!r} in the source"))
        elif not is_mark(after[key]) or is_mark(before[key]):
            found += compare(before[key], after[key], f"{path}.{key}", marked)
        elif isinstance(before[key], dict | list):
            found.append(("orphans", f"{path}.{key}: only a mark"))
    if path and before and not kept:
        found.append(("orphans", f"{path}: nothing of its content"))
    if marked and len(kept) == len(after) < len(before):
        missing = [key for key in before if key not in after]
        found.append(("gaps", f"{path or 'the whole'}: no mark for {missing[:3]}"))
    return found


def compare_lists(before: list[Any], after: list[Any], path: str, marked: bool) -> list[Complaint]:
    """Compare each element with the next one of the source that it can be a part of."""
    found: list[Complaint] = []
    at, gap = 0, False
    counted = 0
    for value in after:
        if is_mark(value):
            gap = True
            number = re.search(r"\d+", value)
            counted = int(number[0]) if number else 0
            continue
        options = [(n, compare(before[n], value, f"{path}[{n}]", marked)) for n in range(at, len(before))]
        fitting = [(n, bad) for n, bad in options if not any(judge == "heads" for judge, _ in bad)]
        if not fitting:
            first = min(options, key=lambda option: len(option[1]), default=None)
            found += first[1] if first else [("heads", f"{path}: {value!r} is no element")]
            continue
        # Among equal elements the one that the mark has counted up to comes first, or the neighbour.
        n, bad = min(fitting, key=lambda option: (len(option[1]), option[0] != at + counted, option[0]))
        found += bad
        if marked and not gap and n != at:
            found.append(("gaps", f"{path}: no mark between elements {at - 1} and {n}"))
        if isinstance(value, dict) and isinstance(before[n], dict):
            name = find_name(before[n])
            if name and (
                name not in value or find_name(before[n][name], name) != find_name(value[name], name)
            ):
                found.append(("lost", f"{path}[{n}] without its {name}: {before[n][name]!r}"))
        at, gap, counted = n + 1, False, 0
    if path and before and all(is_mark(value) for value in after):
        found.append(("orphans", f"{path}: nothing of its content"))
    elif marked and not gap and at < len(before):
        found.append(("gaps", f"{path}: no mark after element {at - 1}"))
    return found


def find_name(record: Any, otherwise: str | None = None) -> str | None:
    """Return the member that says which record it is; `metadata` does if it has a name."""
    if not isinstance(record, dict):
        return otherwise
    if isinstance(record.get("metadata"), dict) and "name" in record["metadata"]:
        return "metadata"
    return next((name for name in NAMES if name in record), None)


def is_excerpt(after: str, before: str) -> bool:
    """Return whether a string has whole sentences or rows of another, in their order, and marks."""
    if after == before:
        return True
    parts = [" ".join(part.split()) for row in before.split("\n") for part in split_sentences(row)]
    whole = [" ".join(part.split()) for part in split_sentences(" ".join(before.split()))]
    return any(is_made_of(" ".join(MARK.sub(" ", after).split()), pieces) for pieces in (parts, whole))


def is_made_of(text: str, parts: list[str]) -> bool:
    rest = text
    for part in parts:
        if part and rest.startswith(part):
            rest = rest[len(part) :].lstrip()
    return not rest


def judge_csv(before: CsvRows, after: CsvRows, verdict: Verdict) -> None:
    """Complain about rows that are not in the source, and about a lost row of column names."""
    rows = [row for row in after if not is_mark(" ".join(row))]
    if not rows:
        return
    if rows[0] != before[0]:
        verdict.add("lost", f"no column names above {rows[0]}")
    elif len(rows) == 1 and len(before) > 1:
        verdict.add("orphans", f"column names without a row: {rows[0]}")
    at = 0
    for row in rows:
        found = next((n for n in range(at, len(before)) if before[n] == row), None)
        if found is None:
            verdict.add("heads", f"not a row of the source: {row}")
        else:
            at = found + 1
