"""Reports whose records no blank line or indent divides: lines keep the heads of their record."""

from __future__ import annotations

import pytest

from tests.sdk.test_split_outline import check_notation

CASES = {
    "steps of a job": """
1*      |2026-05-14T08:37:40.1000001Z ##[group]Run the crane
2  1    |2026-05-14T08:37:40.1000002Z lift --all
3  1    |2026-05-14T08:37:40.1000004Z ##[endgroup]
4  1    |2026-05-14T08:37:49.3000001Z lifted 812 stones
5*      |2026-05-14T08:37:50.1000001Z ##[group]Run the lamp
6  5    |2026-05-14T08:37:50.1000004Z ##[endgroup]
7  5    |2026-05-14T08:37:58.0000002Z ##[error]Process completed with exit code 2.
""",
    "modules of a build": """
1       |[INFO] Scanning for projects...
        |[INFO]
2*      |[INFO] ------------------< yard:crane >-----------------
3  2    |[INFO] Building crane 1.0                        [1/2]
4* 2    |[INFO] ----------------------[ jar ]------------------
        |[INFO]
5* 2 4  |[INFO] --- rope:3.3:copy (default) @ crane ---
6  2 4 5|[INFO] Copying 3 resources
        |[INFO]
7* 2 4  |[INFO] --- hook:1.2:test (default) @ crane ---
8  2 4 7|[INFO] Running yard.CraneTest
        |[INFO]
9*      |[INFO] -----------------------------------------------
10* 9   |[INFO] Reactor Summary for yard 1.0:
        |[INFO]
11 10   |[INFO] crane .......... FAILURE [ 39.386 s]
12 10   |[INFO] lamp ........... SKIPPED
""",
    "described pods": """
1       |Name:    crane
2  1    |Node:    north
3* 1    |Containers:
4* 1 3  |  rope:
5  1 3 4|    Image:  rope:7
6  1 3 4|    Exit Code: 3
7* 1 3  |  hook:
8  1 3 7|    Image:  hook:2
9  1 3 7|    Exit Code: 9
        |
10      |Name:    lamp
11 10   |Node:    south
12* 10  |Containers:
13* 10 12 |  wick:
14 10 12 13|    Image:  wick:1
15 10 12 13|    Exit Code: 0
""",
    "a graph of commits": """
1*      |* commit 4f7f1484cfc6fbd4673577f3f9f6bbfd06c775ed
2  1    || Author: Ada Stone <ada@pier.example>
3  1    || Date:   Mon May 6 19:03:20 2024 +0200
4       ||
5  1    ||     grease the winch
6       ||
7*      |* commit 1801d21038d3c6b0f86cacb3e9d115ef15089aa0
8  7    |  Author: Bob Reed <bob@pier.example>
9  7    |  Date:   Mon May 6 18:40:00 2024 +0200
        |
10 7    |      drop the anchor
""",
    "errors of a process": """
1*      |==31== Invalid read of size 4
2  1    |==31==    at 0x10A3F2: lift (crane.c:211)
3  1    |==31==    by 0x10B001: main (pier.c:88)
4       |==31==
5*      |==31== Use of an uninitialised value
6  5    |==31==    at 0x10C777: burn (lamp.c:130)
7  5    |==31==    by 0x10B044: main (pier.c:97)
""",
    "branches of a makefile": """
1       |ROPES = hemp
2* 6    |ifeq ($(STORM),1)
3  2 6  |  LAMPS = 9
4* 2 6  |else
5  2 4 6|  LAMPS = 4
6* 2    |endif
""",
    "sections of LaTeX": r"""
1*      |\section{Cranes}
2* 1    |\subsection{The red crane}
3~ 1 2  |It lifts forty stones a day.
4* 1    |\subsection{The old crane}
5~ 1 4  |It lifts twelve stones a day.
""",
    "here documents": """
1       |FROM pier:1 AS yard
2* 7    |COPY <<'CONF' /etc/crane.conf
3  2 7  |lifts 40;
4  2 7  |ropes hemp;
7* 2    |CONF
8* 11   |COPY <<'CONF' /etc/lamp.conf
9  8 11 |burns dusk;
10 8 11 |colour red;
11* 8   |CONF
""",
    "run of a play": """
1*      |PLAY [harbour] **********
        |
2* 1    |TASK [light the lamps] **********
3  1 2  |ok: [north]
4  1 2  |changed: [south]
        |
5* 1    |TASK [raise the crane] **********
6  1 5  |failed: [south]
""",
    "blocks with signs": """
1*      |  + crane "red" {
2  1    |      + hook  = "new"
3* 1    |      + ropes = {
4  1 3  |          + "north" = "hemp"
5  1 3  |        } -> null
6* 1    |      + lamp {
7  1 6  |          + colour = "white"
8  1 6  |        }
9  1    |    }
""",
    "records between rules": """
1*      |Name: crane
2  1    |Licence: Ours
        |
3~ 1    |Nobody may copy the crane.
        |
4  1    |Ropes: hemp
5  1    |Home: the yard
6*      |---
7  6    |Name: lamp
8  7    |Licence: Theirs
        |
9~ 7    |The lamp burns for all.
        |
10 7    |Ropes: none
11 7    |Home: the mole
""",
    "units of systemd": """
1*      |○ crane.service - lifts
2  1    |     Loaded: loaded (/etc/crane.service)
3* 1    |     CGroup: /system/crane
4  1 3  |             ├─12 /usr/bin/crane
5  1 3  |             └─14 /usr/bin/rope
""",
    "boxes in boxes": """
        |--------------------------------
1*      ||            Yard              |
        |+------------------------------+
2* 1    |||           Crane            ||
        ||+--------------+-------------+|
3  1 2  |||  Hook        |  new        ||
4  1 2  |||  Lifts       |  40         ||
        ||+--------------+-------------+|
5* 1 2  ||||         Ropes            |||
        |||+-------------+------------+||
6* 1 2 5||||  Rope       |  Length    |||
        |||+-------------+------------+||
7  1 2 5 6||||  hemp       |  12        |||
8  1 2 5 6||||  wire       |  40        |||
        |||+-------------+------------+||
9* 1    |||           Lamp             ||
        ||+--------------+-------------+|
10 1 9  |||  Colour      |  red        ||
11 1 9  |||  Burns       |  dusk       ||
        ||+--------------+-------------+|
""",
    "commands with their output": """
1*      |$ fetch -v yard.example/crane
2  1    |*   Trying 10.0.0.1:80...
3  1    |> GET /crane HTTP/1.1
4  1 3  |> Host: yard.example
5  1    |< HTTP/1.1 200 OK
6  1 5  |< X-Hook: new
7  1    |* The line is shut
        |
8*      |$ fetch -v yard.example/lamp
9  8    |*   Trying 10.0.0.2:80...
10 8    |> GET /lamp HTTP/1.1
11 8 10 |> Host: yard.example
12 8    |* The line is shut
""",
    "frames of threads": """
1*      |Thread 2 (LWP 71 "crane"):
2  1    |#0  0x00a1 in lift (hook=0x0) at crane.c:12
3  1 2  |        ropes = 4
4  1    |#1  0x00b2 in work (stone=0x1) at yard.c:40
5  1 4  |No locals.
        |
6*      |Thread 1 (LWP 70 "lamp"):
7  6    |#0  0x00c3 in burn (oil=0x2) at lamp.c:9
8  6 7  |        wicks = {id = 3}
9  6 7  |        colour = <optimized out>
""",
    "tests with their logs": """
1*      |Running yard.CraneTest
2  1    |10:20:30.762 [main] WARN yard.Crane - hook 9 is old
3  1    |10:20:31.114 [main] INFO yard.Crane - lifted 12 stones
4  1    |yard.CraneTest.lift <<< FAILED
5  1 4  |org.yard.HookError: expected: <3> but was: <4>
6  1 4 5|	at yard.Crane.lift(Crane.java:44)
        |
7*      |Running yard.LampTest
8  7    |10:20:33.001 [main] WARN yard.Lamp - no oil
""",
    "sums below the tests of a task": """
1*      |> Task :crane:test FAILED
        |
2  1    |CraneTest > lifts() FAILED
3  1 2  |    yard.HookError: 3 of 4
        |
4  1    |12 tests completed, 1 failed
        |
5*      |> Task :lamp:test FAILED
        |
6  5    |LampTest > burns() FAILED
7  5 6  |    yard.OilError: none
        |
8  5    |88 tests completed, 9 failed
""",
    "excerpts of a compiler": """
1       |error[E01]: no such rope
2  1    | --> yard/crane.rs:40:9
3       |   |
4  1 2  |40 |     let rope = find(7);
5  1 2 4|   |         ^^^^ not found
6       |   |
7  1    |note: a rope is made here
8  1 7  | --> yard/rope.rs:12:1
9       |   |
10 1 7 8|12 | pub fn make() {
        |
11      |error[E02]: no such lamp
12 11   | --> yard/lamp.rs:9:1
""",
    "sections of a disassembly": """
1*      |Part of section .init:
        |
2* 1    |1000 <start>:
3  1 2  |  sub  $8,%rsp
4  1 2  |  ret
        |
5* 1    |1010 <stop>:
6  1 5  |  ret
        |
7*      |Part of section .text:
        |
8* 7    |1139 <lift>:
9  7 8  |  push %rbp
        |
10* 7   |1160 <burn>:
11 7 10 |  pop  %rbp
""",
    "ports with their scripts": """
1*      |PORT     STATE SERVICE VERSION
2  1    |22/tcp   open  ssh     9.1
3  1 2  || hostkey:
4  1 2 3||_  1024 8a:ce
5  1    |80/tcp   open  http    1.18
        |
6*      |Scripts of the host:
7  6    || discovery:
8  6 7  ||   Name: crane
9  6 7  ||_  Time: 10:23
""",
    "titles centred above tables": """
1       |                Table "crane"
2* 1    |  Column  |  Type   | Default
        |----------+---------+---------
3  1 2  | hook     | text    | new
4  1 2  | ropes    | integer | 4
5* 1    |Indexes:
6  1 5  |    "crane_key" on hook
        |
7       |                Table "lamp"
8* 7    |  Column  |  Type   | Default
        |----------+---------+---------
9  7 8  | colour   | text    | red
10 7 8  | wicks    | integer | 1
""",
    "blocks that are closed": """
1* 9    |yard crane
2  1 9  |  lifts forty
3* 1 6 9|  hook new
4  1 3 6 9|    rope hemp
5  1 3 6 9|    length short
6* 1 3 9|  end
7  1 9  |  lamp red
        |
8  1 9  |  oil none
9* 1    |end
""",
    "wikitext": """
1*       |== Cranes ==
2* 1     |{|
3* 1 2 6 |! name !! lifts
4  1 2 3 6 || red || 40
5  1 2 3 6 || old || 12
6* 1 2   ||}
7~ 1     |Nobody uses them now.
""",
    "a style sheet": """
1* 7    |.crane {
2  1 7  |  color: red;
3* 1 5 7|  /* hooks:
4  1 3 5 7|  ropes of old hemp
5* 1 3 7|  */
6  1 7  |  margin: 4px;
7* 1    |}
12* 14  |.lamp:hover{
13 12 14|  border: 2px;
14* 12  |}
        |
8  9 11 |.hook,
9* 8 11 |.rope:hover {
10 8 9 11|  color: old;
11* 8 9 |}
""",
    "sections in angle brackets": """
1* 5    |<Yard "/crane">
2  1 5  |    Hook old
3* 1 4 5|    <Rope hemp>
6  1 3 4 5|        Length 40
4* 1 3 5|    </Rope>
5* 1    |</Yard>
7       |Lamp red
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)
