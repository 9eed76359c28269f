"""Recognise texts that are structure as a whole: web pages and source files."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Literal

_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype\s+html|html|head|body|table|div|main|article|section)\b",
    re.IGNORECASE | re.DOTALL,
)
_PYTHON = re.compile(r"^(?:def|class|async def|import|from)\s+\w", re.MULTILINE)
_STATEMENT = re.compile(r"[{};][ \t\r]*$|^[ \t]*(?:[})\]]|//|/\*|\*)", re.MULTILINE)
_DECLARATION = re.compile(
    r"^[ \t]*(?:export\s+|public\s+|private\s+|static\s+|async\s+|pub(?:\([a-z]+\))?\s+)*"
    r"(?:function|class|interface|fn|func|impl|struct|enum|trait|package|import|use|const|#include)\b",
    re.MULTILINE,
)
_FEWEST_LINES = 5


def find_document_kind(text: str) -> Literal["html", "code"] | None:
    """What a whole text is; None for prose, other structure, and mixtures."""
    if "<" in text and _PAGE.match(text[:2000]):
        return "html"
    if _PYTHON.search(text) and is_python(text):
        return "code"
    if _DECLARATION.search(text):
        lines = sum(1 for line in text.splitlines() if line.strip())
        if lines >= _FEWEST_LINES and len(_STATEMENT.findall(text)) * 2 >= lines:
            return "code"
    return None


def is_python(text: str) -> bool:
    """Whether a text is a Python module."""
    return parse_python(text) is not None


def parse_python(text: str) -> ast.Module | None:
    """The syntax tree of a Python module; None for anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of strings with invalid escapes
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
