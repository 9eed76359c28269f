# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
"""Code to lint, and a script that crashes."""

from __future__ import annotations

LINTED = {
    "ingest/feeds.py": """import os, sys
import json
from typing import Dict, List, Optional
import datetime
import hashlib
import subprocess


def fetch(url, cache={}, timeout=30, session=None, retries=3, verify=True, proxies=None):
    try:
        if url in cache.keys():
            return cache[url]
        body = session.get(url, timeout=timeout, verify=False)
    except:
        pass
    if body == None:
        return None
    for l in range(len(body)):
        print(body[l])
    cache[url] = body
    return body


def signature(path: str) -> Optional[str]:
    data = open(path, "rb").read()
    unused = len(data)
    return hashlib.md5(data).hexdigest()


class Feed:
    columns: List[str] = []

    def newest(self, entries: Dict[str, str]):
        if not entries:
            return None
        else:
            newest = sorted(entries, key=lambda entry: entry)[0]
            assert newest, "no entry"
            return newest

    def run(self, name):
        subprocess.run("convert %s.png %s.jpg" % (name, name), shell=True)
        lambda_result = lambda value: value + 1
        if type(name) == str:
            raise NotImplemented
        return f"done"

    def when(self):
        return datetime.datetime.utcnow()
""",
    "ingest/tables.py": """from ingest.feeds import *
import re


def parse(lines):
    rows = []
    for line in lines:
        match = re.match("^(\\w+)\\s*=\\s*(.+)$", line)
        if match != None:
            rows.append(dict(name=match.group(1), value=match.group(2)))
    return list([row for row in rows])


def widest(rows):
    for index, row in enumerate(rows):
        def measure():
            return len(row["value"]) + index
        yield measure


def load(name, tries = 3):
    while tries > 0:
        try:
            return eval(open(name).read())
        except Exception as error:
            tries -= 1
            raise ValueError("cannot load")
""",
}


NESTED_ERRORS = {
    "pipeline.py": """import json
import logging
import sys
import traceback

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)-8s %(name)s: %(message)s")
log = logging.getLogger("pipeline")


class StageFailed(Exception):
    pass


def read_config(text):
    return json.loads(text)


def parse_row(row, columns):
    return {name: convert(row[position]) for position, name in enumerate(columns)}


def convert(value):
    return float(value.replace(",", "."))


def walk(node, depth=0):
    if not isinstance(node, dict):
        return node.weight
    return sum(walk(child, depth + 1) for child in node.values())


def run_stage(name, work):
    log.info("stage %s starts", name)
    try:
        return work()
    except Exception as error:
        raise StageFailed(f"stage {name} failed") from error


def first():
    return read_config('{"threads": 4, "retries": 2, "output": "/data/out",}')


def second():
    return [parse_row(row, ["width", "height", "mass"]) for row in (["1,5", "2,25", "0,4"], ["3,0", "n/a", "0,9"])]


def third():
    tree = {"a": {"b": {"c": {"d": {"e": {"f": 12}}}}}}
    return walk(tree)


def fourth():
    errors = []
    for part in (b"caf\\xe9", b"\\xff\\xfe", b"plain"):
        try:
            part.decode("utf-8")
        except UnicodeDecodeError as error:
            error.add_note(f"part {part!r} came from upload 7781")
            errors.append(error)
    raise ExceptionGroup("2 of 3 parts could not be read", errors)


def fifth():
    try:
        {}["checkpoint"]
    except KeyError:
        open("/nonexistent/state/checkpoint-0042.bin", "rb")


def sixth():
    def deeper(level):
        if level == 0:
            raise RecursionError("plan is deeper than 12 levels: cycle between 'resize' and 'crop'")
        return deeper(level - 1)

    return deeper(12)


for number in range(8):
    log.info("worker %d took %d files from the queue", number, 40 + number * 3)
for name, work in (
    ("config", first), ("rows", second), ("tree", third), ("decode", fourth), ("resume", fifth), ("plan", sixth)
):
    try:
        run_stage(name, work)
    except StageFailed:
        traceback.print_exc(file=sys.stdout)
log.error("6 of 6 stages failed, nothing was published")
run_stage("last", lambda: [][3])
""",
}
