"""Sessions: commands typed at a prompt, with the output of each below it.

Each output is split separately, so that its headings do not apply to the next one. All units of an output
need its command, and a command with output is kept only with a unit of that output.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from tersely.split.lines import Range
from tersely.units import Link, Unit

_PROMPT = re.compile(
    r"""^(?:
      (?P<shell>(?:\([\w.-]+\)\ )?(?:\[?[\w.-]+@[\w.-]+[^\n$\#%]{0,60}[$\#%]|\$)\ )(?=\S)
    | (?P<python>>>>\ )(?=\S)
    | (?P<cell>In\ \[\d+\]:\ )
    | (?P<windows>(?:PS\ )?[A-Za-z]:\\[^>\n|<*?"]{0,100}>\ ?)(?=\S)
    | (?P<debugger>\((?:gdb|lldb|Pdb|dlv)\)\ )(?=\S)
    | (?P<ruby>irb\(\w+\):\d+(?::\d+)?[>*]\ )(?=\S)
    | (?P<r>>\ )(?=[\w.$]+(?:\(|\[|\ ?<-))
    | (?P<name>\w[\w.:-]{1,40}(?:\ ?\[[\w.-]+\]|\([\w.-]+\))?(?:=?>\ (?=\S)|=?\#\ ?(?=[A-Za-z!?])))
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""A prompt, which a program prints before a command. R's prompt, `>`, also marks quotations in mails, so it
counts only before a call, an index or an assignment."""
_CONTINUED = re.compile(r"\.{3}(?:\s|$)|\s*\.{3}:\s|\s{3,4}[-'\">]{1,2}>\s|[\w.]*[-'(][#>]\s")
"""A further line of a command, such as `... ` of Python or `    -> ` of MySQL."""
_QUOTED = re.compile(r"^>{1,2} ", re.MULTILINE)
"""A line of a quotation. In a text with such lines, `>>>` is a nested quotation instead of a prompt."""


def find_commands(text: str) -> list[Range]:
    """Return the ranges of the commands of a session.

    A session has output, and begins with a prompt of a shell or with another prompt that recurs. Return
    nothing for any other text. A number after a single prompt is not a command, because a text may begin
    with an amount such as `$ 5`.
    """
    start = len(text) - len(text.lstrip())
    first = _PROMPT.match(text, start) if start == 0 or text[start - 1] == "\n" else None
    if first is None or (first.lastgroup == "python" and _QUOTED.search(text)):
        return []
    key = _find_key(first)
    commands: list[Range] = []
    for prompt in _PROMPT.finditer(text, start):
        is_new = not commands or prompt.start() >= commands[-1][1]
        if is_new and _find_key(prompt) == key:  # not a further line of the command above
            commands.append(_find_range(text, prompt.start()))
    outputs = (text[end:below] for (_, end), (below, _) in pairwise([*commands, (len(text), 0)]))
    has_output = any(map(str.strip, outputs))
    is_typed = first.lastgroup == "shell" and not text[first.end()].isdigit()
    return commands if has_output and (len(commands) > 1 or is_typed) else []


def _find_key(prompt: re.Match[str]) -> tuple[str | None, str]:
    """Return the parts that all prompts of a session share: the kind and, if the prompt has one, the name."""
    is_named = prompt.lastgroup == "name"
    return prompt.lastgroup, re.split(r"[(\[=#>]", prompt["name"])[0] if is_named else ""


def _find_range(text: str, start: int) -> Range:
    end = _find_line_end(text, start)
    while end < len(text) and (text[end - 1] == "\\" or _CONTINUED.match(text, end + 1)):
        end = _find_line_end(text, end + 1)
    return start, start + len(text[start:end].rstrip())


def _find_line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def split_session(text: str, commands: list[Range], split: Callable[[str], list[Unit]]) -> list[Unit]:
    """Return the units of a session. `split` splits an output."""
    units: list[Unit] = []
    for (start, end), (below, _) in pairwise([*commands, (len(text), 0)]):
        at = len(units)
        output = [_move(unit, end, at) for unit in split(text[end:below])]
        command = Unit(start, end, "line", True)
        if output:
            needs = {at + 1, *output[0].link.needs} - {at}
            command = replace(command, link=Link(None, 1, tuple(sorted(needs)), "frame"))
        units += [command, *output]
    return units


def _move(unit: Unit, offset: int, command: int) -> Unit:
    """Return a unit of an output as a unit of its session; `command` is the position of its command."""
    needs = (command, *(command + 1 + need for need in unit.link.needs))
    link = replace(unit.link, needs=needs)
    return replace(unit, start=unit.start + offset, end=unit.end + offset, link=link)
