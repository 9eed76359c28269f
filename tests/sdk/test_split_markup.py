"""Sources of AsciiDoc, LaTeX and POD: blocks between delimiters, headings, items and described terms."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import RandomScorer, check_notation
from tests.sdk.units import find_needs, grows_linearly, list_units

ASCIIDOC = """= Crane guide
:toc: left

[[ropes]]
== Ropes

To change a rope:

. Stop the crane.
+
[source,bash]
----
crane stop --all
----
. Take the rope off.

.Lengths of ropes
[cols="1,3",options="header"]
|===
|Name |Length

|red |Forty feet of rope for the old crane.
|blue |Ninety feet of rope for the new crane.
|===

[NOTE]
====
A red rope is stronger than a blue one. It is dear.
====

rope_length:: Number of feet.
rope_colour:: A name of a colour.
"""
LATEX = r"""\section{Ropes}
\begin{figure}[t]
  \includegraphics{rope}
  \caption{How the keeper pulls a rope.}
\end{figure}
\begin{itemize}
  \item A red rope is stronger than a blue one.
  \item A blue rope is lighter.
\end{itemize}
\paragraph{How ropes end.}
A rope ends at a hook.
\begin{thebibliography}{9}
\bibitem{keeper}
A. Keeper. Ropes of old cranes with
short hooks. Journal of Piers, 3(4), 2004.
\bibitem{lamp}
B. Lamp. Lights.
\end{thebibliography}
"""
CASES = {
    "headings and items of POD": """
1*       |=head1 NAME
         |
2~ 1     |Crane lifts what is heavy.
         |
3*       |=head1 OPTIONS
         |
4* 3     |=item --rope
         |
5~ 3 4   |The rope is pulled.
         |
6* 3     |=item --lamp
         |
7~ 3 6   |The lamp is lit.
""",
    "sections below numbered ones": """
1*       |1.  Ropes
         |
2~ 1     |A rope is red.
         |
3* 1     |1.1.  Hooks
         |
4~ 1 3   |A hook is of iron.
         |
5*       |Author's Address
         |
6~ 5     |The keeper lives on the pier.
""",
    "underlined titles below titles between stars": """
1*       |*** READERS ***
         |
2* 1     |Old ropes
0        |---------
         |
3~ 1 2   |They are of grass.
         |
4*       |*** EVENTS ***
         |
5* 4     |A fair
0        |------
         |
6~ 4 5   |It begins at noon.
""",
}


@pytest.mark.parametrize("name", CASES)
def test_heads_of_markup(name: str) -> None:
    check_notation(CASES[name])


def test_blocks_of_asciidoc_have_their_titles_and_attributes() -> None:
    blocks = [body for kind, body in list_units(ASCIIDOC) if kind == "code"]
    assert [body.split("\n", 1)[0] for body in blocks] == [".Lengths of ropes", "[NOTE]"]
    assert all(body.endswith(end) for body, end in zip(blocks, ("|===", "===="), strict=True))
    items = [body for kind, body in list_units(ASCIIDOC) if kind == "list_item"]
    assert items == [
        ":toc: left",
        ". Stop the crane.\n+\n[source,bash]\n----\ncrane stop --all\n----",
        ". Take the rope off.",
        "rope_length:: Number of feet.",
        "rope_colour:: A name of a colour.",
    ]
    assert find_needs(ASCIIDOC, ". Take the rope off.") >= {"[[ropes]]\n== Ropes", "To change a rope:"}


def test_environments_of_latex_are_blocks() -> None:
    blocks = [body for kind, body in list_units(LATEX) if kind == "code"]
    assert [body.split("}")[0] for body in blocks] == [
        r"\begin{figure",
        r"\begin{itemize",
        r"\begin{thebibliography",
    ]
    assert all(r"\end{" in body.rsplit("\n", 1)[-1] for body in blocks)
    assert r"\paragraph{How ropes end.}" in find_needs(LATEX, "A rope ends at a hook.")


@pytest.mark.parametrize("text", [ASCIIDOC, LATEX])
def test_no_delimiter_is_left_alone(text: str) -> None:
    for seed in range(60):
        result = Compressor(RandomScorer(seed)).compress("Which?", [text * 3], budget=60 + seed)
        kept = [line.strip() for line in result.text.split("\n")]
        for delimiter in ("----", "====", "|==="):
            assert kept.count(delimiter) % 2 == 0, result.text
        begun = sum(line.startswith(r"\begin{") for line in kept)
        assert begun == sum(line.startswith(r"\end{") for line in kept), result.text


def test_an_entry_of_a_bibliography_keeps_its_key() -> None:
    for seed in range(60):
        result = Compressor(RandomScorer(seed)).compress("Which?", [LATEX * 3], budget=60 + seed)
        kept = result.text.split("\n")
        for at, line in enumerate(kept):
            if line == "A. Keeper. Ropes of old cranes with":
                assert kept[at - 1 : at + 2 : 2] == [
                    r"\bibitem{keeper}",
                    "short hooks. Journal of Piers, 3(4), 2004.",
                ]


@pytest.mark.parametrize(
    "line", ["= Crane\n[a]\n----\n", "\\begin{itemize}\n\\item a\n", "[a]\n.b\n", "=item a\n\n", "a b:: c\n"]
)
def test_markup_takes_linear_time(line: str) -> None:
    assert grows_linearly(lambda size: split_units(line * (size // 4)))
