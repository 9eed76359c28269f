"""How much one line looks like code, and whether a run of lines is code.

Nothing here parses a language. A line counts as code when its shape is rare in prose (assignments, calls,
braces, prompts, tags). A run counts as code when most of its lines do and few of them read like sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum


class Likeness(IntEnum):
    """What the shape of a line suggests, from prose to code."""

    PROSE = 0
    UNCLEAR = 1
    MAYBE = 2
    CODE = 3


# Comments, prompts and queries. They are code even if their words read like a sentence.
_UNMISTAKABLE = re.compile(
    r"""(?:>>>\ |"{3}|'{3}|\.\.\.\ |\$\ |\#!|//|/\*|\*/|--\ |@\w[\w.]*(?:\(|$)
    |\#(?:include|define|ifdef|endif|pragma)\b
    |<\?|<!--|@@\ |\+\+\+\ |---\ [ab]/|diff\ --git
    |SELECT\ .*\ FROM\ )""",
    re.VERBOSE,
)
_SENTENCE_LIKE = re.compile(r"(?:[^\W\d_][^\W\d_’'-]*[,;:]? ){4}[^\W\d_]{2,}")
_CODE = re.compile(
    r"""(?:
      [}\])]+[;,)]*$                                                              # closing brackets
    | (?:async\ )?(?:def|class|fn|func|function|pub|struct|enum|interface|trait|impl|module)\s+\w.*[:{(]$
    | (?:async\ )?(?:def|fn|func|function)\ +\w+\(.*\).*
    | import\s+[\w.*{}"'/@, -]+;?$ | from\s+[\w.]+\s+import\s.+ | using\s[\w.]+;$ | package\s[\w.]+;?$
    | (?:(?:const|let|var|val|final|static|public|private|local|my|int|float|double|char|bool|auto
      |export)\s+)*+
      [$@*&]*[A-Za-z_][\w.$\[\]'"]*(?:\s*:\s*[\w\[\], .|]+)?\s*(?:=|:=|\+=|-=|\*=|\|=|=>|<-)\s*[^\s=].*
    | </?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>.*                                        # a tag
    | [\w.$]++(?:(?:::|->)[\w.]++)*+\(.*\)[;,:{]?(?:\s*(?:\#|//).*)?$              # a call
    | "[^"]*"\s*:\s*\S.* | '[^']*'\s*:\s*\S.*                                     # a dictionary entry
    | .*[({\[,]\s*\{$ | .*\)\s*(?:->.*|=>.*)?[{:]$ | \{$
    | .*[=()\[\]<>].*;$
    | (?:SELECT|INSERT\ INTO|UPDATE|DELETE\ FROM|CREATE\ (?:TABLE|INDEX|VIEW)|ALTER\ TABLE|DROP\ TABLE
      |GROUP\ BY|ORDER\ BY|(?:LEFT\ |INNER\ |RIGHT\ |OUTER\ )?JOIN|VALUES)\b.*
    )""",
    re.VERBOSE,
)
_MAYBE = re.compile(
    r"""(?:
      (?:if|elif|else|for|while|try|except|finally|with|match|case|switch|do)\b.*[:{]$
    | (?:return|yield|raise|throw|await|assert|del|pass|break|continue|end|fi|done|esac)\b(?:.*[^.?!])?$
    | (?:FROM|WHERE|AND|OR|LIMIT|SET|ON)\s.*
    | (?:sudo|pip3?|npm|npx|yarn|git|docker|curl|wget|apt|apt-get|cd|ls|export|conda|brew|cargo|go|python3?
      |make|kubectl|mkdir|cp|mv|rm|echo|cat|grep|chmod|ssh)\s+[-\w./$"'~]+.*
    | \#\s.* | -{1,2}\w[\w-]*.* | [\w./-]+\s+-{1,2}\w.* | .*(?:->|=>|::|!=|==|&&|\|\||\\)\s*\S*.*
    | [\w.-]+:(?:\s+\S{1,40})?$ | "(?:[^"\\]|\\.)*",?$ | [\d.,\s\[\]()x+*/=-]+$ | .*[;{}\\]$
    )""",
    re.VERBOSE,
)


def rate_line(line: str) -> Likeness:
    """How much a line looks like code. The line is not blank."""
    line = line.strip()[:400].rstrip()
    if _UNMISTAKABLE.match(line):
        return Likeness.CODE
    if _SENTENCE_LIKE.search(line):
        return Likeness.PROSE
    if _CODE.match(line):
        return Likeness.UNCLEAR if line.endswith((".", "?", "!")) else Likeness.CODE
    return Likeness.MAYBE if _MAYBE.match(line) else Likeness.UNCLEAR


def is_code(lines: Sequence[Likeness], *, indented: bool) -> bool:
    """Whether a run of lines is code. An indented run needs fewer lines of code: prose is rarely indented."""
    if not lines:
        return False
    sure, maybe, prose = (lines.count(kind) for kind in (Likeness.CODE, Likeness.MAYBE, Likeness.PROSE))
    total = len(lines)
    if prose * 3 > total:
        return False
    if indented:
        return (sure + maybe) * 2 >= total
    if total >= 3 and sure + maybe == total:  # settings: a key and a value on each line
        return True
    return sure * 2 >= total and (sure + maybe) * 3 >= total * 2
