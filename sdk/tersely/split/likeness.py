"""Likeness of lines to code.

Nothing here parses a language. A line counts as code if its shape is rare in prose (assignments, calls,
braces, prompts, tags).
"""

from __future__ import annotations

import re
from enum import IntEnum

# Comments, prompts, queries, and statements of Ruby such as `return 3 if a.nil?`. They are code even if their
# words read like a sentence.
_UNMISTAKABLE = re.compile(
    r"""(?:>>>\ |"{3}|'{3}|\.\.\.\ |\$\ |\#!|//|/\*|\*/|--\ |@\w[\w.]*(?:\(|$)
    |\#(?:include|define|ifdef|endif|pragma)\b
    |<\?|<!--|@@\ |\+\+\+\ |---\ [ab]/|diff\ --git
    |SELECT\ .*\ FROM\ |(?:return|raise|yield|next|break)\b.*\ (?:if|unless)\ .*\w\.\w+[?!]$)""",
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
      [$@*&]*[A-Za-z_][\w.$\[\]'"]*(?:\s*+:\s*+[\w\[\],.|]++(?:\ +[\w\[\],.|]++)*+)?\s*+
      (?:=|:=|\+=|-=|\*=|\|=|=>|<-)\s*[^\s=].*
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


class Likeness(IntEnum):
    """Likeness of a line's shape to code."""

    PROSE = 0
    UNCLEAR = 1
    MAYBE = 2
    CODE = 3


def rate_line(line: str) -> Likeness:
    """Return how much a line looks like code. The line is not blank."""
    line = line.strip()[:400].rstrip()
    if _UNMISTAKABLE.match(line):
        return Likeness.CODE
    if _SENTENCE_LIKE.search(line):
        return Likeness.PROSE
    if _CODE.match(line):
        return Likeness.UNCLEAR if line.endswith((".", "?", "!")) else Likeness.CODE
    return Likeness.MAYBE if _MAYBE.match(line) else Likeness.UNCLEAR
