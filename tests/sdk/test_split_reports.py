"""Reports of tests and compilers, options of commands, and histories of git."""

from __future__ import annotations

import json

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.units import find_needs, list_units

MOCHA = """  Crane
    1) lifts
    2) lowers

  2 failing

  1) Crane
       lifts:
     TypeError: the crane is undefined
      at Context.<anonymous> (crane.test.js:5:22)

  2) Crane
       lowers:

      AssertionError: Expected values to be strictly equal:

3 !== 4

      + expected - actual

      -3
      +4
"""


def test_what_a_failure_says_belongs_to_it_although_it_is_indented_less() -> None:
    assert "2) Crane\n       lowers:" in find_needs(MOCHA, "3 !== 4")
    assert "1) Crane\n       lifts:" not in find_needs(MOCHA, "3 !== 4")


VITEST = """ FAIL  crane.spec.mjs > lifts
AssertionError: expected 3 to be 4

- Expected
+ Received

 FAIL  crane.spec.mjs > lowers
AssertionError: expected 7 to be 8

Number of calls: 9
"""


def test_a_line_belongs_to_the_failed_test_above_it() -> None:
    needs = find_needs(VITEST, "Number of calls: 9")
    assert "FAIL  crane.spec.mjs > lowers" in needs
    assert "FAIL  crane.spec.mjs > lifts" not in needs


@pytest.mark.parametrize(
    "message",
    [
        "yard/crane.py:34:12: C3001: Lambda assigned. Define a function instead. (unnecessary-lambda)",
        "a.ts:8:33 - error TS1064: The return type must be a promise. Did you mean to write it?",
        "Crane.cs(3,5): error CS0103: The name does not exist. Are you missing a reference?",
    ],
)
def test_a_message_with_its_place_is_not_split(message: str) -> None:
    assert message in [unit for _, unit in list_units(f"Checked 3 files.\n{message}\nb.py is fine.\n")]


HELP = """Options:
      --annotation map          Add an annotation to the
                                crane (passed through to the
                                harbour)
  -d, --detach                  Run the crane in the background
      --hook string             Name of the hook. See
                                --rope for its rope.
      --rope string             Name of the rope
"""


def test_an_option_is_one_part_with_its_description() -> None:
    units = [" ".join(unit.split()) for _, unit in list_units(HELP)]
    assert units[1:] == [
        "--annotation map Add an annotation to the crane (passed through to the harbour)",
        "-d, --detach Run the crane in the background",
        "--hook string Name of the hook. See --rope for its rope.",
        "--rope string Name of the rope",
    ]


HISTORY = """commit ca70c0bca7382ab444d437ba1c9d346ccf25fa0f
Author: Ada King <ada@yard.example>
Date:   Sun Mar 17 10:17:00 2019 +0100

    release 4.3.4

 package.json  | 12 ++++++------
 2 files changed, 22 insertions(+), 9 deletions(-)

commit 0a9108f7962fadcdccf401610752a9d5987124fe
Author: Bo Ray <bo@yard.example>
Date:   Fri Mar 16 10:16:00 2018 +0100

    release 4.3.1

 .crane.yml    |  20 -----
 4 files changed, 39 insertions(+), 26 deletions(-)
"""


def test_a_change_comes_with_the_message_of_its_commit() -> None:
    needs = find_needs(HISTORY, ".crane.yml    |  20 -----")
    assert {"commit 0a9108f7962fadcdccf401610752a9d5987124fe", "release 4.3.1"} <= needs
    assert "release 4.3.4" not in needs


def test_a_diff_of_source_is_a_diff() -> None:
    text = """diff --git a/crane.js b/crane.js
index da809d2..3bcdc24 100644
--- a/crane.js
+++ b/crane.js
@@ -1,6 +1,6 @@
 function lift() {
-  return rope;
+  return hook;
 }
 function lower() {
   return rope;
diff --git a/lamp.js b/lamp.js
--- a/lamp.js
+++ b/lamp.js
@@ -1,3 +1,3 @@
 function burn() {
-  return oil;
+  return gas;
 }
"""
    assert [kind for kind, _ in list_units(text)] == ["diff"]


def test_the_end_of_a_block_heads_nothing() -> None:
    text = """crane: the configuration is ok
crane: the test of the file is successful
# configuration of the crane:
user ada;
pid 7;
events {
\tworkers 768;
\t# accept on;
}
http {
\t##
\t# Ropes
\t##
\tropes TLSv1.2;
}
"""
    needs = find_needs(text, "ropes TLSv1.2;")
    assert "http {" in needs
    assert "events {" not in needs


def test_empty_comment_lines_leave_no_mark() -> None:
    text = (
        "http {\n\t##\n\t# Ropes of the crane\n\t##\n\tropes red;\n\thooks 7;\n"
        + "\tlamp dark;\n" * 40
        + "}\n"
    )
    result = Compressor().compress("Which ropes?", [text], budget=30)
    assert "ropes red;" in result.text
    assert "…" not in result.text.split("ropes red;")[0].split("# Ropes")[-1]


RUST = (
    "impl Crane {\n    /// Lift a rope.\n"
    + "".join(
        f"    /// Rope number {n} is red, and longer than the others of this harbour.\n" for n in range(20)
    )
    + """    #[stable(feature = "crane", since = "1.5.0")]
    pub fn lift_rope(&mut self, index: usize) -> Option<u8> {
        self.ropes.get(index)
    }

    pub fn count(&self) -> usize {
        self.ropes.len()
    }

    pub fn lower(&self) {
        self.ropes.clear()
    }
}
"""
)


def test_a_long_comment_above_an_attribute_is_opened() -> None:
    result = Compressor().compress("What does lift_rope return?", [RUST], budget=120)
    assert 'since = "1.5.0")]\n    pub fn lift_rope(&mut self, index: usize) -> Option<u8> {' in result.text
    assert split_units(RUST)[0].kind == "code"


def test_a_host_identifies_its_record() -> None:
    servers = [
        {
            "host": f"h{n}.harbour.example",
            "port": 8000 + n,
            "note": "A server of the harbour. " * 8,
            "memory": f"{n * 6} GB",
        }
        for n in range(1, 9)
    ]
    text = json.dumps(servers, indent=1)
    result = Compressor().compress("Which server has a memory of 42 GB?", [text], budget=60)
    assert '"host": "h7.harbour.example"' in result.text
