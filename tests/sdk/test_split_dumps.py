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
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)
