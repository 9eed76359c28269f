"""Hashes and JSON as the written services print them."""

from __future__ import annotations

import hashlib
import json


def make_hash(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


def dump_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
