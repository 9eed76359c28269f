"""Prompts: text files in this folder, with `$name` in the place of a value.

The version of a prompt is a hash of its text. Trained models record the version that they were trained with.
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
    """The text of a prompt with placeholders."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """Eight hexadecimal digits of the text's SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]

    def render(self, **values: str) -> str:
        """Return the text with every value in its place. Placeholders inside values stay as they are.

        Raises KeyError if a value is missing.
        """
        return Template(self.text).substitute(values)


def escape_tag(text: str, tag: str) -> str:
    """Escape `<tag>` and `</tag>` in `text`, so that it can neither begin nor end a block of that tag."""
    return re.sub(rf"<(?=\s*/?\s*{tag}\b)", "&lt;", text, flags=re.IGNORECASE)


@cache
def load_prompt(name: str) -> Prompt:
    """Load the prompt `name`. Raises FileNotFoundError if it does not exist."""
    text = (resources.files(__name__) / f"{name}.txt").read_text(encoding="utf-8")
    return Prompt(name, text.rstrip("\n"))
