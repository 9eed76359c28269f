"""The form of ZipRL's turns as a grammar (GBNF), for models of llama.cpp: they can then write nothing else.

It holds the form and the most characters of each part, so that a small model cannot go on for ever. A summary
is at most as long as its level allows; whether it has the least length is left to the model, because what it
adds to reach that would be made up.
"""

from __future__ import annotations

from collections.abc import Sequence

from tersely.agent.tools import Tool
from tersely.levels import LEVELS

_THOUGHT = 400
"""Characters."""
_VALUE = 200
"""Characters of an argument."""
_LONGEST = 1000
"""Characters of a summary; llama.cpp refuses to count to twice as many. Levels above are left out."""


def write_grammar(tools: Sequence[Tool], *, needs_summary: bool) -> str:
    """A grammar of turns that `parse_turn` reads. A call has the arguments that its tool requires, or the
    first that the tool has. The summary may be left empty unless `needs_summary`."""
    optional = "" if needs_summary else "?"
    levels = [level for level in LEVELS if level.characters[1] <= _LONGEST]
    turns = " | ".join(
        f'"{level.number}</summary_level>\\n<summary>" ({_text("<", level.characters[1])}){optional}'
        for level in levels
    )
    rules = {
        "root": f'"<think>" thought "</think>\\n<summary_level>" ({turns}) "</summary>\\n" call',
        "thought": _text("<", _THOUGHT),
        "value": _text("<\\n", _VALUE),
        "call": " | ".join(_write_call(tool) for tool in tools),
    }
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


def _text(without: str, most: int) -> str:
    """Text of at most so many characters that begins with one that can be seen."""
    return f"[^{without} \\t\\n] [^{without}]{{0,{most - 1}}}"


def _write_call(tool: Tool) -> str:
    names = tool.required or tuple(tool.parameters)[:1]
    parameters = " ".join(f'"<parameter={name}>" value "</parameter>"' for name in names)
    return f'"<function={tool.name}>" {parameters} "</function>"'
