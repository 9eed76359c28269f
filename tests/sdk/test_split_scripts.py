"""Shell scripts, SQL and blocks in braces: lines keep those that open and close their blocks."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.code import open_code
from tersely.split.nodes import Sizes
from tersely.split.scripts import is_script
from tersely.split.sentences import split_units
from tests.sdk.fakes import FakeScorer
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import grows_linearly, list_units

CASES = {
    "arms of a case, indented like it": """
1          |#!/bin/sh
           |
2* 17      |lift_stone() {
3* 2 12 17 |  case "$1" in
4* 2 3 12 17 |  old-crane|new-crane)
5  2 3 4 12 17 |    lower_hook "$stone" && close_gate
6  2 3 4 12 17 |    echo "the stone is at the pier"
7  2 3 4 12 17 |    ;;
8* 2 3 12 17 |  *)
9  2 3 8 12 17 |    lower_rope "$barge"
10 2 3 8 12 17 |    echo "no crane has this name"
11 2 3 8 12 17 |    ;;
12* 2 3 17 |  esac
13* 2 16 17 |  while read -r rope; do
14 2 13 16 17 |    tie "$rope" to the old pier
15 2 13 16 17 |    echo "one more rope is tied"
16* 2 13 17 |  done < "$ropes"
17* 2      |}
""",
    "here documents with lines at the margin": """
1          |#!/usr/bin/env bash
           |
2* 12      |describe_yard() {
3* 2 9 12  |  if [ -z "$crane" ]; then
4* 2 3 8 9 12 |    cat <<'YARD' > /srv/yard.conf
5  2 3 4 8 9 12 |crane = 12
6  2 3 4 8 9 12 |  rope = 7
7  2 3 4 8 9 12 |hook = 31
8* 2 3 4 9 12 |YARD
9* 2 3 12  |  fi
10 2 12    |  case_count=4
11 2 12    |  lower_hook "$stone" && close_gate
12* 2      |}
           |
13         |describe_yard "$@"
""",
    "blocks with here documents in settings": """
1* 10      |resource "yard_crane" "old" {
2  1 10    |  length = 31
3* 1 7 10  |  policy = <<POLICY
4  1 3 7 10 |{
5  1 3 7 10 |  "lift": "all stones at the pier"
6  1 3 7 10 |}
7* 1 3 10  |POLICY
8  1 10    |  rope   = "new"
9  1 10    |  hook   = yard_hook.red.id
10* 1      |}
           |
11* 14     |variable "gate" {
12 11 14   |  default = 8
13 11 14   |  type    = number
14* 11     |}
""",
    "statements": """
1          |begin;
           |
2*         |insert into stones (crane, rope, weight)
3* 2       |values
4  2 3     |  (31, 'red', 0.5),
5  2 3     |  (47, 'old', 9.5);
           |
6* 18      |create or replace function lift(stone integer)
7 6 18     |returns trigger language plpgsql as $lift$
8* 6 18    |declare
9  6 8 18  |  height integer := 241;
10* 6 17 18 |begin
           |
11* 6 10 15 17 18 |  IF height > 515 THEN
12 6 10 11 15 17 18 |    raise exception 'too high: 95';
13* 6 10 11 15 17 18 |  ELSE
14 6 10 11 13 15 17 18 |    height := 4001;
15* 6 10 11 17 18 |  END IF;
16 6 10 17 18 |  return new;
17* 6 10 18 |end;
18* 6      |$lift$ language plpgsql;
           |
19         |commit;
""",
    "control lines of a template at the margin": """
1          |kind: Deployment
2*         |spec:
3  2       |  replicas: {{ .Values.replicas }}
4* 2 6     |{{- if .Values.bell }}
5  2 4 6   |  bell: {{ .Values.bell.name }}
6* 2 4     |{{- end }}
7* 2       |  template:
8* 2 7     |    containers:
9* 2 7 8   |      - name: crane
10 2 7 8 9 |        image: "crane:{{ .Values.tag }}"
11* 2 7 8 9 13 |{{- if .Values.lamp }}
12 2 7 8 9 11 13 |        lamp: {{ .Values.lamp }}
13* 2 7 8 9 11 |{{- end }}
14 2 7 8 9 |        rope: 4
""",
    "directives of C, and macros in front of declarations": """
1* 27      |#ifndef CRANE_H
2  1 27    |#define CRANE_H 1
           |
3  1 27    |#include <yard.h>
           |
4* 1 13 27 |#ifdef USE_ROPE
5* 1 4 8 13 27 |# ifdef REDIRECT
6  1 4 5 8 13 27 |extern int REDIRECT (lift, (const char *stone), lift64)
7  1 4 5 6 8 13 27 |     THROW;
8* 1 4 5 13 27 |# endif
9* 1 4 13 27 |#else
10 1 4 9 13 27 |extern int lower (const char *stone) THROW;
11 1 4 9 13 27 |# define lift lower
12 1 4 9 13 27 |extern int rest (void) THROW;
13* 1 4 27 |#endif
           |
14* 1 20 27 |struct yard {
15 1 14 20 27 |    int cranes;
16 1 14 20 27 |#define YARD_CRANES 7
17* 1 14 19 20 27 |#if YARD_CRANES > 4
18 1 14 17 19 20 27 |    int ropes;
19* 1 14 17 20 27 |#endif
20* 1 14 27 |};
           |
21* 1 23 26 27 |lift_inline int
22* 1 21 23 26 27 |lift_all (void)
23* 1 21 22 26 27 |{
24 1 21 22 23 26 27 |    lift (STONE);
25 1 21 22 23 26 27 |    rest ();
26* 1 21 22 23 27 |}
           |
27* 1      |#endif
""",
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES)
def test_lines_keep_their_blocks(notation: str) -> None:
    check_notation(notation)


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\nlift\n",
        "SELECT rope\nFROM yard; -- all of them\n",
        "a = 1\nhook {\n  rope = 2\n}\ncrane {\n  rope = 3\n}\n",
        "user yard;\nevents {\n  hooks 4;\n}\nserver {\n  gate 80;\n}\n",
    ],
)
def test_a_script_is_one_block_of_code(text: str) -> None:
    assert [unit.kind for unit in split_units(text)] == ["code"]


@pytest.mark.parametrize(
    "text",
    [
        "Select a crane, and lift the stone.\nWith it comes a rope;\nset it down.\n",
        "The hook opens.\na {\n  b\n}\nc {\n  d\n}\n",
        "a {\n  b\n}\nc {\n  d\n",
        "a {\n  b\n}\nc {\n  d\n  }\n",
    ],
)
def test_other_texts_are_no_scripts(text: str) -> None:
    assert not is_script(text)


@pytest.mark.parametrize(
    "line", ["select {n}\n", "select $a$;\n", "a{n} {\n}\n", "cat <<EOF\n", "case a in\n"]
)
def test_scripts_are_read_in_time_linear_in_their_lines(line: str) -> None:
    def read(size: int) -> object:
        text = "".join(line.replace("{n}", str(n)) for n in range(size * 4 // len(line)))
        return is_script(text), open_code(text, 0, len(text), Sizes(40, 40))

    assert grows_linearly(read)


def test_a_template_of_yaml_is_code_whose_keys_need_the_keys_around_them() -> None:
    port = "            - name: pier{0}\n              containerPort: {0}\n"
    ports = "".join(port.format(7000 + n) for n in range(12))
    text = (
        "{{- if .Values.harbour.enabled }}\nkind: Deployment\nspec:\n  # Two of them, never more.\n"
        "  replicas: {{ .Values.replicas }}\n  template:\n    spec:\n      containers:\n"
        f"        - name: {{{{ .Chart.Name }}}}\n          ports:\n{ports}"
        '        - name: bell\n          image: "{{ .Values.bell }}"\n{{- end }}\n'
    )
    assert [kind for kind, _ in list_units(text)] == ["code"]
    kept = Compressor(FakeScorer()).compress("7009", [text], budget=110).text
    lines = [line.strip() for line in kept.split("\n")]
    heads = ["spec:", "template:", "spec:", "containers:", "- name: {{ .Chart.Name }}", "ports:"]
    assert [line for line in lines if line in heads] == heads
    assert "- name: pier7009" in lines
    assert "containerPort: 7009" in lines
