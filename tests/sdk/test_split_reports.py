"""Reports whose records no blank line or indent divides: lines keep the heads of their record."""

from __future__ import annotations

import pytest

from tests.sdk.test_split_outline import check_notation

CASES = {
    "scan of hosts": """
1*      |Scan report for crane.example (10.0.0.1)
2~ 1    |The host is up (0.0004s latency).
3* 1    |PORT     STATE SERVICE VERSION
4  1 3  |22/tcp   open  ssh     9.1
5  1 3  |80/tcp   open  http    1.18
        |
6*      |Scan report for lamp.example (10.0.0.2)
7~ 6    |The host is up (0.0005s latency).
8* 6    |PORT     STATE SERVICE VERSION
9  6 8  |25/tcp   open  smtp    3.7
10 6 8  |80/tcp   open  http    1.24
""",
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
2*      |ifeq ($(STORM),1)
3  2    |  LAMPS = 9
4* 2    |else
5  2 4  |  LAMPS = 4
6  2 4  |endif
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
    "wikitext": """
1*       |== Cranes ==
2* 1     |{|
3* 1 2 6 |! name !! lifts
4  1 2 3 6 || red || 40
5  1 2 3 6 || old || 12
6* 1 2   ||}
7~ 1     |Nobody uses them now.
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)
