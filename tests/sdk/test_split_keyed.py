"""Records that begin with the same fields, as servers of tools print them, and other lines with heads."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tests.sdk.units import check_heads, find_needs, list_units

LIBRARIES = """\
Available libraries:

----------
- Title: Crane Ledger
- Library ID: /harbour/crane-ledger
- Description: Counts the loads of cranes.
----------
- Title: Rope Router
- Library ID: /harbour/rope-router
- Description: Sends ropes to the cranes.
----------
- Title: Tide Index
- Library ID: /shore/tide-index
- Description: Finds the next tide.
"""
COMMITS = """\
Commit history:
Commit: 962fb6f4e2dd190121dfc72e136d37a265731f23
Author: Ada Moss
Date: 2026-10-14 08:36:46+00:00
Message: Keep the loads after a restart

The ledger forgot its loads when the crane stopped.

* the ledger has 78 pages
Signed-off-by: Ada Moss <ada@example.org>

Commit: 4ecd5f431408b051223dec559abfc616016d42b3
Author: Ben Hill
Date: 2026-10-12 10:21:13+00:00
Message: Paint the gate

Signed-off-by: Ben Hill <ben@example.org>

Commit: cd4442462db8d340bdb44a8d8007c87e832a55bf
Author: Cleo Lind
Date: 2026-10-11 17:00:02+00:00
Message: Rename the sampler

* sampler is renamed to meter
"""
MAILS = """\
Thread: 18f3a
Subject: Harbour crane

=== Message 1 ===
From: Ada Moss <ada@example.org>
Date: Tue, 4 Sep 2026 12:22:00 +0200

Hi Ben,

The crane stalls in strong wind. We lost two shifts.

=== Message 2 ===
From: Ben Hill <ben@example.org>
Date: Tue, 4 Sep 2026 14:02:00 +0200

Hi Ada,

The new gearbox arrives on Monday. Please sign the order.
"""
PAGES = """\
Title: Bread in the old town
URL: https://example.org/bread
Content: Five bakeries compared.

Title: Flour mills
URL: https://example.org/mills
Content: # Flour mills

## Delivery

The mill delivers rye flour on Tuesday.

Title: Cheese near the gate
URL: https://example.org/cheese
Content: Shops for cheese.
"""
EVENTS = """\
Found 2 events:
- "Standup" (Starts: 2026-07-27, Ends: 2026-07-27)
  Description: Short round, please be on time.
The dock crane is discussed first.
1. crane order with Ada
  Location: Room 165
- "Planning" (Starts: 2026-08-01, Ends: 2026-08-01)
  Description: Budget for the autumn.
* gearbox quote with Ben
  Location: Room 824
"""
CHAT = """\
[2026-09-12 14:55:30] Chat: Flat 12 From: Ada: The plumber comes on Thursday.
[2026-09-12 15:02:11] Chat: Flat 12 From: Ben: Things to do:
- 2 spare keys for Cleo

- 40 euros for the cleaner
The keys for Cleo are under the pot.
[2026-09-12 15:10:48] Chat: Flat 12 From: Ada: I will be back on Sunday.
[2026-09-12 15:12:20] Chat: Flat 12 From: Dora: Has anyone seen my pump?
"""
PACKAGES = """\
Name: crane
Version: 1.2
License: Copyright (c) 2015, the crane team

Permission to lift is granted to everyone who reads this text. The team
gives no warranty that the crane lifts anything at all.
Location: /srv/packages
Requires: rope
---
Name: rope
Version: 2.0
License: MIT
Location: /srv/packages
Requires:
---
Name: tide
Version: 0.3
License: MIT
Location: /srv/packages
Requires: crane
"""


@pytest.mark.parametrize(
    ("text", "line", "heads"),
    [
        (LIBRARIES, "- Description: Sends ropes to the cranes.", {"- Title: Rope Router"}),
        (
            COMMITS,
            "* sampler is renamed to meter",
            {"Commit: cd4442462db8d340bdb44a8d8007c87e832a55bf", "Message: Rename the sampler"},
        ),
        (
            COMMITS,
            "* the ledger has 78 pages",
            {"Commit: 962fb6f4e2dd190121dfc72e136d37a265731f23", "Message: Keep the loads after a restart"},
        ),
        (
            MAILS,
            "The new gearbox arrives on Monday.",
            {"=== Message 2 ===", "From: Ben Hill <ben@example.org>"},
        ),
        (PAGES, "The mill delivers rye flour on Tuesday.", {"Title: Flour mills", "## Delivery"}),
        (EVENTS, "* gearbox quote with Ben", {'- "Planning" (Starts: 2026-08-01, Ends: 2026-08-01)'}),
        (EVENTS, "Location: Room 824", {'- "Planning" (Starts: 2026-08-01, Ends: 2026-08-01)'}),
        (
            CHAT,
            "The keys for Cleo are under the pot.",
            {"[2026-09-12 15:02:11] Chat: Flat 12 From: Ben: Things to do:"},
        ),
        (PACKAGES, "Requires: rope", {"Name: crane"}),
        (PACKAGES, "Requires: crane", {"Name: tide"}),
    ],
)
def test_lines_of_a_record_need_its_first_line(text: str, line: str, heads: set[str]) -> None:
    check_heads(text, line, heads, ("Title:", "- Title:", "Commit:", "From:", "Name:", '- "', "[2026"))


def test_a_trailer_with_an_address_is_no_heading() -> None:
    assert "Signed-off-by: Ben Hill <ben@example.org>" not in find_needs(COMMITS, "Author: Cleo Lind")


def test_sentences_of_a_wrapped_field_need_its_name() -> None:
    text = (
        "Event: Coastal flood\nArea: Marlow\nDescription: Water levels rise by half a metre\n"
        "at high tide. Waves up to four metres reach\nthe pier.\n---\nEvent: Heat\nArea: Northgate\n"
        "Description: Temperatures up to 39 degrees are\nexpected in the valleys.\n"
    )
    needs = find_needs(text, "Waves up to four metres reach\nthe pier.")
    assert {"Event: Coastal flood", "Description: Water levels rise by half a metre\nat high tide."} <= needs


def test_lines_that_begin_with_the_same_field_are_whole() -> None:
    lines = [
        "msgid=1 [log] The map was drawn in 40 milliseconds. (1 args)",
        "msgid=2 [error] The cart could not be saved for this visitor. (3 args)",
        "msgid=3 [warn] A cookie was set without a lifetime. (2 args)",
    ]
    assert list_units("Console:\n\n" + "\n".join(lines))[1:] == [("line", line) for line in lines]


def test_a_tree_of_nodes_below_a_heading_is_not_settings() -> None:
    text = (
        '## Latest snapshot\nuid=1_0 RootWebArea "Cranes" url="https://example.org"\n'
        '  uid=1_1 region "Summer"\n    uid=1_2 button "Buy bell"\n'
        '  uid=1_3 region "Winter"\n    uid=1_4 button "Buy light"\n'
        "## Requests\nreqid=1 GET https://example.org/a [200]\n"
    )
    result = Compressor().compress("Which button is in Winter?", [text], budget=60)
    assert 'region "Winter"\n    uid=1_4 button "Buy light"' in result.text
    assert result.text.startswith("## Latest snapshot\nuid=1_0 RootWebArea")


def test_code_around_a_frame_needs_the_frame() -> None:
    text = (
        '**Frame:**\n──────\n  File "totals.py", line 118, in add_tax\n\n    116 │     base = sum(lines)\n'
        "    117 │     tax = base * rate\n  → 118 │     return round(tax)\n    119 │     # no places\n"
    )
    kind, code = list_units(text)[-1]
    assert kind == "numbered"
    assert 'File "totals.py", line 118, in add_tax' in find_needs(text, code)


def test_the_reason_of_a_panic_comes_with_it() -> None:
    text = (
        "thread 'main' panicked at src/crane.rs:262:35:\ncalled `Option::unwrap()` on a `None` value\n"
        "stack backtrace:\n   0: crane::lift\n             at ./src/crane.rs:866:4\n"
        "note: run with `RUST_BACKTRACE=full` for more\n"
    )
    reason = "called `Option::unwrap()` on a `None` value"
    assert reason in find_needs(text, "note: run with `RUST_BACKTRACE=full` for more")


def test_stars_are_headings_in_a_text_with_settings_of_org() -> None:
    text = "#+TITLE: Cranes\n\n* Lifting\n#+BEGIN_SRC sh\nlift --all\n#+END_SRC\n\n- check the rope\n"
    assert "* Lifting" in find_needs(text, "- check the rope")


def test_arguments_in_brackets_are_no_headings() -> None:
    text = (
        "lift_crane\n----------\n\nLift it.\n\n::\n\n  lift_crane([ROPE <rope>]\n"
        "             [SPEED <speed>]\n             [QUIET]\n             [HOOK <hook>]\n             )\n"
    )
    assert "lift_crane([ROPE <rope>]" in find_needs(text, "[QUIET]")


def test_an_announced_value_ends_above_the_next_paragraph() -> None:
    value = '\n\n    {\n        "crane": 7\n    }\n\n'
    examples = f"Example crane policy::{value}Example rope policy::{value}"
    text = f"The crane lifts what two policies allow.\n\n{examples}The rope must be new. It is red.\n"
    assert find_needs(text, "The rope must be new.") == set()


def test_a_title_in_a_clause_is_not_cut_off() -> None:
    words = " ".join(["every crane of the harbour and of the shore lifts its own load by itself"] * 5)
    text = f"1. Terms. The words below are used.\n\n2. Grant of Cranes. On each day {words}. It is free.\n"
    result = Compressor().compress("What is the Grant of Cranes?", [text], budget=30)
    assert "2. Grant of Cranes.\n" not in result.text


def test_a_closing_line_comes_with_the_lines_above_it() -> None:
    rule = '"rule": "{ "a": 1, "b": "the quiet crane lifts" }"'
    text = f"Output:\n\n    {{\n        {rule}\n    }}\n\nSee the manual.\n"
    result = Compressor().compress("What does the manual say?", [text], budget=20)
    assert "}" not in result.text


def test_an_item_of_a_changelog_needs_its_version() -> None:
    """An indented field below some items does not make records of them."""
    text = (
        "crane (2.1-5) unstable; urgency=medium\n\n  * Grease the hook.\n  * Repair the rope of a boat.\n"
        "    Closes: #9598.\n\ncrane (2.1-4) unstable; urgency=medium\n\n"
        "  * The last upload had to go through the gate, so this one will\n    allow the crane to lift.\n"
        "    Closes: #9581.\n"
    )
    assert "crane (2.1-4) unstable; urgency=medium" in find_needs(text, "Closes: #9581.")


def test_a_task_of_ansible_needs_its_play() -> None:
    plays = ("Prepare cranes", "Open gates")
    text = "".join(
        f"PLAY [{play}] ********\n\nTASK [{play} : first] ********\nchanged: [db-1]\nok: [db-2]\n\n"
        for play in plays
    )
    text += "TASK [common : last] ********\nskipping: [db-1]\nok: [db-3]\n"
    heads = {"PLAY [Open gates] ********", "TASK [common : last] ********"}
    check_heads(text, "ok: [db-3]", heads, ("PLAY", "TASK"))


def test_the_comment_of_an_issue_needs_its_author() -> None:
    fields = "association:\tmember\nedited:\tfalse\nstatus:\tnone\n"
    text = (
        "title:\tStale hook\nstate:\tOPEN\nauthor:\tana\ncomments:\t2\n--\nThe crane has a stale hook.\n--\n"
        f"author:\tlena\n{fields}--\nI restarted the crane and the count dropped to 925.\n--\n"
        f"author:\tmarc\n{fields}--\nPlease roll back the change of the rope.\n--\n"
    )
    for author, line in (
        ("lena", "I restarted the crane and the count dropped to 925."),
        ("marc", "Please roll back the change of the rope."),
    ):
        check_heads(text, line, {f"author:\t{author}"}, ("author",))
