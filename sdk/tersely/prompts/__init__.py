"""Prompts: text files beside this one, with `$name` where a value goes.

A prompt's version is a hash of its text, so that a cached answer or a trained model can say which it belongs
to.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    text: str

    @property
    def version(self) -> str:
        """Eight hexadecimal digits of the text's SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]

    def render(self, **values: str) -> str:
        """The text with every value in its place; what a value contains is not looked at. Raises KeyError for
        a value that is missing."""
        return Template(self.text).substitute(values)


def escaped(text: str, tag: str) -> str:
    """`text` in which no `<tag>` or `</tag>` can end or begin the block that it is put into."""
    return re.sub(rf"<(?=\s*/?\s*{tag}\b)", "&lt;", text, flags=re.IGNORECASE)


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt `name`. Raises FileNotFoundError where there is none."""
    text = (resources.files(__name__) / f"{name}.txt").read_text(encoding="utf-8")
    return Prompt(name, text.rstrip("\n"))
