"""Output of tools whose lines begin with a hash, a gutter, a path or a margin."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.units import find_needs, list_units

GIT = """\
657e2c5a Say which request takes which time
14\t12\tdocs/server.md
3\t1\tdocs/timeouts.md
06ae13f9 Split sentences on summaries
22\t20\tdocs/summaries.md
fad096c1 Split sentences on agents and memory
36\t36\tdocs/agents.md
"""

STATS = """\
bcbcc1fb Ada Moss 2026-11-27
Say what an overview is

 docs/how-it-works.md | 13 +++++++------
 1 file changed, 7 insertions(+), 6 deletions(-)
fb58cd51 Ada Moss 2026-11-27
Name the folder of the rules

 CONTRIBUTING.md | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)
"""

FOLDERS = {
    "moor": "test moor cfg auth",
    "test": "auth",
    "path": "list get run",
    "work": "path work",
    "get": "moor cfg",
    "base": "moor env base",
}

GO = """\
=== RUN   TestTotal
=== RUN   TestTotal/negative_total
    shop_test.go:5: Total() = -2, want 0
--- FAIL: TestTotal (0.00s)
=== RUN   TestShip/DE/5000g
tariff lookup DE 5000
    shop_test.go:7: price 4.90 is too low for 5000 g
=== RUN   TestShip/FR/5000g
tariff lookup FR 5000
    shop_test.go:7: price 9.50 is too low for 5000 g
--- FAIL: TestShip (0.00s)
"""

PYDOC = """\
class Crane(builtins.object)
 |  Methods defined here:
 |
 |  lift(self, load)
 |      Lift a load.
 |
 |  lower(self)
 |      Lower what hangs on the hook.
 |
 |  ----------------------------------------------------------------------
 |  Data descriptors defined here:
 |
 |  __dict__
 |      dictionary for instance variables
 |
 |  __weakref__
 |      list of weak references to the object
"""


@pytest.mark.parametrize(
    ("line", "heads"),
    [
        ("3\t1\tdocs/timeouts.md", {"657e2c5a Say which request takes which time"}),
        ("22\t20\tdocs/summaries.md", {"06ae13f9 Split sentences on summaries"}),
        ("36\t36\tdocs/agents.md", {"fad096c1 Split sentences on agents and memory"}),
    ],
)
def test_a_file_comes_with_its_commit(line: str, heads: set[str]) -> None:
    assert find_needs(GIT, line) == heads


def test_a_commit_heads_its_subject_and_its_files() -> None:
    assert "fb58cd51 Ada Moss 2026-11-27" in find_needs(STATS, "CONTRIBUTING.md | 2 +-")
    assert "bcbcc1fb Ada Moss 2026-11-27" not in find_needs(STATS, "CONTRIBUTING.md | 2 +-")
    assert find_needs("657e2c5a Say it\n06ae13f9 Split it\n", "06ae13f9 Split it") == set()


def test_a_file_in_a_listing_comes_with_its_folder() -> None:
    listings = [
        f"/srv/{folder}:\n" + "".join(f"{name}.go\n" for name in files.split())
        for folder, files in FOLDERS.items()
    ]
    text = "\n".join(["/srv:\n" + "".join(f"{folder}\n" for folder in FOLDERS), *listings])
    units = split_units(text)
    lines = [text[unit.start : unit.end] for unit in units]
    for at, line in enumerate(lines):
        if not line.endswith(":"):
            folder = next(name for name in reversed(lines[:at]) if name.endswith(":"))
            assert [lines[need] for need in units[at].link.needs] == [folder]


def test_a_file_in_a_tree_with_hard_spaces_comes_with_its_folder() -> None:
    tree = (
        "[       4096 Nov 29 15:17]  /srv/harbour\n"
        "├── [       1628 Nov 29 15:17]  base.js\n"
        "├── [       4096 Nov 29 15:17]  cli\n"
        "│\xa0\xa0 ├── [       2991 Nov 29 15:17]  entry.js\n"
        "│\xa0\xa0 └── [       1915 Nov 29 15:17]  exit.js\n"
        "└── [        407 Nov 29 15:17]  tide.js\n"
    )
    result = Compressor().compress("How large is exit.js?", [tree], budget=75)
    assert "  exit.js" in result.text
    assert "  cli\n" in result.text


def test_the_output_of_a_test_comes_with_its_name() -> None:
    assert find_needs(GO, "tariff lookup FR 5000") >= {"=== RUN   TestShip/FR/5000g"}
    assert "=== RUN   TestShip/DE/5000g" not in find_needs(GO, "tariff lookup FR 5000")


@pytest.mark.parametrize(
    "line",
    [
        "net/http/client.go-944-//  1. On Read error or close, the stop func is called. It may fail.",
        "297:// server is informed. An ErrUnexpectedEOF indicates the remote closed the stream.",
        "src/llama.py:79:        It gets every chunk of the stream. It says whether to go on.",
    ],
)
def test_a_line_that_grep_found_is_whole(line: str) -> None:
    assert list_units(line) == [("line", line)]


def test_a_name_with_an_initial_in_brackets_heads_its_changes() -> None:
    text = (
        "apt (2.1.16) unstable; urgency=medium\n\n  [ Ada Moss ]\n  * Lift the crane\n\n"
        "  [ Demi M. Moor ]\n  * Paint the lamp\n\n -- Ada Moss <ada@example.org>  Fri, 08 Jan 2021\n"
    )
    assert find_needs(text, "* Paint the lamp") >= {"[ Demi M. Moor ]"}


def test_a_lock_comes_with_its_frame() -> None:
    text = (
        '"Finalizer" #3 daemon prio=8\n   java.lang.Thread.State: WAITING (on object monitor)\n'
        "\tat java.lang.Object.wait(java.base/Native Method)\n"
        "\t- waiting on <0x000000069ec02f40> (a java.lang.ref.ReferenceQueue$Lock)\n"
        "\tat java.lang.ref.ReferenceQueue.remove(java.base/ReferenceQueue.java:155)\n"
        "\t- locked <0x000000069ec02f41> (a java.lang.ref.ReferenceQueue$Lock)\n"
    )
    lock = "- locked <0x000000069ec02f41> (a java.lang.ref.ReferenceQueue$Lock)"
    frame = "at java.lang.ref.ReferenceQueue.remove(java.base/ReferenceQueue.java:155)"
    assert frame in find_needs(text, lock)
    assert "at java.lang.Object.wait(java.base/Native Method)" not in find_needs(text, lock)


def test_a_comment_indented_like_a_continued_value_belongs_to_it() -> None:
    packages = "".join(
        f"{name}==1.{at}.0 \\\n    --hash=sha256:{at}3b21ab72cd\n    # via\n    #   {name}-user\n"
        for at, name in enumerate(("anyio", "blinker", "certifi", "click", "flask"))
    )
    result = Compressor().compress("What needs certifi?", [packages], budget=50)
    lines = result.text.splitlines()
    at = lines.index("certifi==1.2.0 \\")
    assert [line.strip() for line in lines[at + 1 : at + 4]] == [
        "--hash=sha256:23b21ab72cd",
        "# via",
        "#   certifi-user",
    ]


def test_a_group_of_methods_heads_all_of_them() -> None:
    result = Compressor().compress("Which list has weak references?", [PYDOC], budget=60)
    kept = [line[4:] for line in result.text.splitlines()]
    names = ["Data descriptors defined here:", "__weakref__", "    list of weak references to the object"]
    assert [line for line in kept if line in names] == names
    lower = Compressor().compress("What does lower do with the hook?", [PYDOC], budget=45)
    kept = [line[4:] for line in lower.text.splitlines()]
    assert kept.index("Methods defined here:") < kept.index("lower(self)")
