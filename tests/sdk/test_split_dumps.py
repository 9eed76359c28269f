"""Dumps of tools and servers: lines keep the heads of their record."""

from __future__ import annotations

import pytest

from tests.sdk.test_split_outline import check_notation

CASES = {
    "locks of threads": """
1       |"crane" #12 daemon prio=5
2  1    |   State: WAITING
3  1    |	at yard.Crane.lift(Crane.java:40)
4  1 3  |	- locked <0x40> (a yard.Hook)
5  1    |	at yard.Rope.pull(Rope.java:12)
6  1 5  |	- locked <0x41> (a yard.Rope)
7  1    |	at yard.Yard.run(Yard.java:7)
8  1    |	at yard.Mast.stand(Mast.java:20)
9  1 8  |	- locked <0x43> (a yard.Mast)
        |
10      |"lamp" #13 daemon prio=5
11 10   |   State: RUNNABLE
12 10   |	at yard.Lamp.burn(Lamp.java:3)
13 10 12|	- locked <0x42> (a yard.Wick)
""",
    "continued elements": """
1       |* crane for the yard
2* 8    |.subckt crane in out
3  2 8  |M1 out in gnd nmos W=40u
4  2 3 8|+ AD=4p AS=5p
5  2 8  |R2 in out 7k
6  2 8  |M3 in out gnd nmos W=12u
7  2 6 8|+ AD=1p AS=2p
8* 2    |.ends crane
""",
    "directives between tags": """
1       |Listen 80
        |
2* 15   |<VirtualHost 10.1.1.2:443>
3  2 15 |ServerName crane
4  2 15 |LogLevel info
5* 2 8 15|<Directory /srv/hook>
6  2 5 8 15|Options -Indexes
7  2 5 8 15|AllowOverride All
8* 5    |</Directory>
9* 2 14 15|<Directory /srv/rope>
10 2 9 14 15|Options None
11* 2 9 13 14 15|<RequireAny>
12 2 9 11 13 14 15|Require ip 10.1.1.7
13* 11  |</RequireAny>
14* 9   |</Directory>
15* 2   |</VirtualHost>
        |
16* 22  |<VirtualHost 10.1.1.3:443>
17 16 22|ServerName lamp
18 16 22|LogLevel warn
19* 16 21 22|<Directory /srv/wick>
20 16 19 21 22|Options None
21* 19  |</Directory>
22* 16  |</VirtualHost>
""",
    "messages with different first lines": """
1       |SHIP/2.0 200 OK
2  1    |Via: north 41
3  1    |Call: crane 13
4  1    |Length: 0
        |
5       |STAY quay:lamp SHIP/2.0
6  5    |Via: south 42
7  5    |Call: lamp 14
8  5    |Length: 0
        |
9       |STAY quay:rope SHIP/2.0
10 9    |Via: south 43
11 9    |Call: rope 15
12 9    |Length: 0
""",
    "groups whose names look alike": """
1*      |NORTH CRANE TEAM
2  1    |M:	Ada Moe
3  1    |S:	Works
        |
4*      |RED LAMP TEAM
5  4    |M:	Ben Roy
6  4    |S:	Rests
        |
7*      |SOUTH CRANE TEAM
8  7    |M:	Tora Vik
9  7    |S:	Works
        |
10*     |OLD ROPE TEAM
11 10   |M:	Nils Vik
12 10   |S:	Rests
""",
    "a play": """
1*      |INT. THE OLD YARD - DAY
        |
2~ 1    |A crane lies beside the lamp.
        |
3* 1    |ADA
4~ 1 3  |I sold the crane for 40 crowns.
        |
5* 1    |BEN
6~ 1 5  |I sold the lamp for 12 crowns.
        |
7*      |EXT. THE PIER - NIGHT
        |
8~ 7    |A rope lies beside the hook.
        |
9* 7    |ADA
10 7 9  |(quietly)
11~ 7 9 |I sold the rope for 7 crowns.
        |
12* 7   |BEN
13~ 7 12|I sold the hook for 3 crowns.
""",
    "a queue of mails": """
1*      |-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------
2  1    |653BB2FD4F     5382 Thu Nov 26 14:00:00  ada@quay.example
3  1 2  |(connect to north.example[10.1.1.2]:25: timed out)
4  1 2  |                                         ben@north.example
        |
5  1    |C1531876D6     3046 Thu Nov 26 17:00:00  tora@quay.example
6  1 5  |(connect to south.example[10.1.1.3]:25: timed out)
7  1 5  |                                         nils@south.example
        |
8  1    |DE41A75E2C     7667 Thu Nov 26 11:00:00  else@quay.example
9  1 8  |(connect to east.example[10.1.1.4]:25: timed out)
10 1 8  |                                         ida@east.example
        |
        |-- 16 Kbytes in 3 Requests.
""",
    "records under the same heading": """
1*      |  --- Volume of logs ---
2  1    |  Path                /dev/quay/crane
3  1 2  |  Group               north
4  1 2  |  Size                12 GiB
5  1 2  |  Opened              3
        |
11*     |  --- Volume of logs ---
12 11   |  Path                /dev/quay/lamp
13 11 12|  Group               south
14 11 12|  Size                40 GiB
15 11 12|  Opened              7
""",
    "a list indented less than its name": """
1       |crane:
2  1    |  Installed: 1.4
3* 1    |  Versions:
4  1 3  | *** 1.4 500
5  1 3  |     1.3 100
6       |lamp:
7  6    |  Installed: 2.1
8* 6    |  Versions:
9  6 8  | *** 2.1 500
10 6 8  |     2.0 100
""",
    "licences of files": """
1       |Format: the format of 2012
2  1    |Name: pier
        |
3       |Files: *
4  3    |Copyright: 1998 Ada Moe
5  3    |License: OAK-1
        |
6       |Files: crane.c
7  6    |Copyright: (C) 2005 The Yard of the Pier, and others.
8  6    |License: OAK-1
9  6    |Comment: Given by the keeper of the yard, who is old.
        |
10      |Files: lamp.c
11 10   |Copyright: (C) 2006 The Yard of the Pier, and others.
12 10   |License: ASH-2
13 10   |Comment: Its keeper did not say what the licence is.
        |
14      |License: OAK-1
15~ 14  | Ships may stay at the pier until the tide turns again.
16* 14  |Comment:
17~ 14 16| The keeper of the yard calls it the licence of oak.
        |
18      |License: ASH-2
19~ 18  | No lamp may burn at the pier after the end of the night.
20* 18  |Comment:
21~ 18 20| The keeper of the yard calls it the licence of ash.
""",
    "equal keys, which are not YAML": """
1       |Format: the format of 2012
2  1    |Name: pier
3* 1    |Comment:
4  1 3  | about the ropes: see the yard
        |
6       |Files: *
7  6    |Copyright: 1998 Ada Moe
8  6    |License: OAK-1
        |
9       |Files: crane.c
10 9    |Copyright: 2005 Ben Roy
11 9    |License: OAK-2
        |
12      |Files: lamp.c
13 12   |Copyright: 2006 Tora Vik
14 12   |License: ASH-2
""",
    "fields that begin with a sign": """
1        |:20:STM1
2 1      |:25:NO55
3 1      |:61:0101D7,50
4 1 3    |:86:020?20RENT?32North
5 1 3 4  |?33ADA MOE OF THE PIER
6 1      |:61:0102D8,50
7 1 6    |:86:021?20RENT?32South
8 1 6 7  |?33BEN ROY OF THE PIER
9 1      |:61:0103D9,50
10 1 9   |:86:022?20RENT?32East
11 1 9 10|?33TORA VIK OF THE PIER
12 1     |:62F:C1,75
13       |:20:STM2
14 13    |:25:NO66
15 13    |:61:0104D10,50
16 13 15 |:86:020?20RENT?32North
17 13 15 16|?33NILS VIK OF THE PIER
18 13    |:61:0105D11,50
19 13 18 |:86:021?20RENT?32South
20 13 18 19|?33ELSE MOE OF THE PIER
21 13    |:61:0106D12,50
22 13 21 |:86:022?20RENT?32East
23 13 21 22|?33IDA ROY OF THE PIER
24 13    |:62F:C2,75
""",
    "an end alone in its paragraph": """
1* 6    |define LIFT
2  1 6  |lift rope 4
        |
3  1 6  |drop rope 9
        |
6* 1    |End define
        |
7* 9    |define BURN
8  7 9  |burn wick 3
9* 7    |End define
""",
    "a queue with a number of digits": """
1*      |-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------
2  1    |653BB2FD4F     5382 Thu Nov 26 14:00:00  ada@quay.example
3  1 2  |(connect to north.example[10.1.1.2]:25: timed out)
        |
4  1    |C1531876D6     3046 Thu Nov 26 17:00:00  tora@quay.example
5  1 4  |(connect to south.example[10.1.1.3]:25: timed out)
        |
6  1    |4263446700     7667 Thu Nov 26 11:00:00  else@quay.example
7  1 6  |(connect to east.example[10.1.1.4]:25: timed out)
""",
    "a list with a flag": """
1       |crane:
2  1    |  Installed: 1.3
3* 1    |  Versions:
4  1 3  |     1.4 500
5  1 3 4|        500 north
6  1 3  | *** 1.3 100
7  1 3 6|        100 south
8       |lamp:
9  8    |  Installed: 2.1
10* 8   |  Versions:
11 8 10 | *** 2.1 500
12 8 10 11|        500 north
13 8 10 |     2.0 100
14 8 10 13|        100 south
""",
    "authors of a version": """
1*      |pier (3.11-4) unstable; urgency=medium
        |
2* 1    |  [Ada Moe]
3  1 2  |  * Remove the rope of the old crane.
        |
4* 1    |  [Ben Roy]
5  1 4  |  * Light the lamp of the new crane.
        |
6*      |pier (3.11-3) unstable; urgency=medium
        |
7* 6    |  [Ada Moe]
8  6 7  |  * Count the hooks of the yard.
""",
    "records of four lines": """
1       |@north_41 length=20
2  1    |ACGTTGCAACGTTGCAACGT
3 1     |+
4  1    |!*II%HHB#CCDE"FFGGAA
5       |@south_7 length=20
6  5    |TTGCAACGTTGCAACGTACG
7 5     |+
8  5    |%H!*II"FFHB#CCDEGGAA
9       |@east_12 length=20
10 9    |GCAACGTTGCAACGTACGTT
11 9     |+
12 9    |CCDEGG%H!*II"FFHB#AA
13      |@west_30 length=20
14 13   |CAACGTTGCAACGTACGTTG
15 13     |+
16 13   |HB#AACCDEGG%H!*II"FF
""",
    "plans with costs": """
1       |Hash Join  (cost=21.00..514.00 rows=656)
2  1    |  Hash Cond: (a.rope = b.id)
3  1    |  ->  Seq Scan on crane  (cost=0.00..481.00 rows=268)
4  1 3  |        Filter: (hook > 479)
5  1 3  |        Rows Removed by Filter: 656
6  1    |  ->  Seq Scan on lamp  (cost=0.00..337.00 rows=334)
7  1 6  |        Filter: (wick > 333)
8  1 6  |        Rows Removed by Filter: 438
9       |Planning Time: 2.1 ms
10      |Execution Time: 91.1 ms
        |
11      |Hash Join  (cost=11.00..892.00 rows=417)
12 11   |  Hash Cond: (a.oil = b.id)
13 11   |  ->  Seq Scan on yard  (cost=0.00..554.00 rows=412)
14 11 13|        Filter: (pier > 573)
15 11 13|        Rows Removed by Filter: 594
16      |Planning Time: 6.1 ms
17      |Execution Time: 37.1 ms
""",
    "names of hosts": """
1*      |$ORIGIN pier.example.
2  1    |$TTL 3600
3  1    |crane   IN  A     10.1.1.2
4  1 3  |        IN  TXT   "lifts forty"
5  1    |lamp    IN  A     10.1.1.3
""",
    "more entries than a block of code has lines": "\n".join(
        f"""{at}* |Thu 2026-05-14 12:00:{at % 60:02}.000001 UTC [s=4;i={at}]
{at + 1} {at}|    PRIORITY={at}
{at + 2} {at}|    PID=4{at}
{at + 3} {at}|    UID=7{at}
{at + 4} {at}|    HOOKS=9{at}
{at + 5} {at}|    MESSAGE=lifts {at} stones"""
        for at in range(1, 150, 6)
    ),
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)
