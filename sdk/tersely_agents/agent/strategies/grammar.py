"""The form of ZipRL's turns as a grammar (GBNF), for models of llama.cpp: they can then write nothing else.

It holds the form and the most characters of each part, so that a small model cannot go on for ever. A summary
has the length of its level, and a level for which there is too little to summarise cannot be chosen: what a
model adds to fill it would be made up.
"""

from __future__ import annotations

from collections.abc import Sequence

from tersely_agents.agent.tools import Tool
from tersely_agents.levels import LEVELS, Level

_THOUGHT = 400
"""Characters."""
_VALUE = 200
"""Characters of an argument."""
_LONGEST = 1000
"""Characters of a summary; llama.cpp refuses to count to twice as many. Levels above are left out."""


def write_grammar(tools: Sequence[Tool], material: int) -> str:
    """A grammar of turns that `parse_turn` reads. A call has the arguments that its tool requires, or the
    first that the tool has.

    material: characters of what there is to summarise. Where there is nothing, a summary may be empty or
        short; where there is less than any level wants, it has at least as many characters as there are.
    """
    levels = [level for level in LEVELS if level.characters[1] <= _LONGEST]
    levels = [level for level in levels if level.characters[0] <= material] or levels[:1]
    optional = "" if material else "?"
    turns = " | ".join(
        f'"{level.number}</summary_level>\\n<summary>" ({_summary(level, material)}){optional}'
        for level in levels
    )
    rules = {
        "root": f'"<think>" thought "</think>\\n<summary_level>" ({turns}) "</summary>\\n" call',
        "thought": _text("<", 1, _THOUGHT),
        "value": _text("<\\n", 1, _VALUE),
        "call": " | ".join(_write_call(tool) for tool in tools),
    }
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


def _summary(level: Level, material: int) -> str:
    least, most = level.characters
    return _text("<", min(least, material), most)


def _text(without: str, least: int, most: int) -> str:
    """Text of so many characters. Of two or more, the first and the last can be seen: white space at the ends
    does not count."""
    seen, any_ = f"[^{without} \\t\\n]", f"[^{without}]"
    if least <= 1:
        return f"{seen} {any_}{{0,{most - 1}}}"
    return f"{seen} {any_}{{{least - 2},{most - 2}}} {seen}"


def _write_call(tool: Tool) -> str:
    names = tool.required or tuple(tool.parameters)[:1]
    parameters = " ".join(f'"<parameter={name}>" value "</parameter>"' for name in names)
    return f'"<function={tool.name}>" {parameters} "</function>"'
