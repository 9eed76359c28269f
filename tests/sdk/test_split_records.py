"""Records without indentation: only the first line of each says what its other lines are about."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.record_texts import (
    ACCOUNTS,
    BUILD,
    CASH_BOOK,
    CHANGES,
    ENTRIES,
    FAMILY,
    FILES,
    FILTER,
    HEADERS,
    HOSTS,
    LICENCES,
    LOCALE,
    MAPS,
    PLAYLIST,
    PRICES,
    PROCESSES,
    ROWS,
    STATEMENT,
    TESTS,
    VERSIONS,
)
from tests.sdk.units import find_needs, grows_linearly


@pytest.mark.parametrize(
    ("text", "line", "heads"),
    [
        (FAMILY, "2 PLAC Askim", ["0 @P1@ PERS", "1 NAME Tora Vik", "1 BORN"]),
        (FAMILY, "2 DATE 9 JUN 1970", ["0 @P1@ PERS", "1 NAME Tora Vik", "1 DIED"]),
        (FAMILY, "2 PLAC Hamar", ["0 @P2@ PERS", "1 NAME Nils Vik", "1 BORN"]),
        (STATEMENT, ":86:Rent to Nils", [":20:STM1", ":25:NO55", ":61:0103D7,50"]),
        (STATEMENT, ":62F:C27,75", [":20:STM2", ":25:NO66"]),
        (CASH_BOOK, "T-8.25", ["!Account", "NHarbour box", "D3/5/2021"]),
        (CASH_BOOK[: CASH_BOOK.index("!Account", 1)], "T-8.25", ["D3/5/2021"]),
        (PROCESSES, "n/dev/tty2", ["p53", "cls", "f1"]),
        (
            TESTS,
            "NTE|1|checked twice",
            ["MSH|A|LAB|1|P", "PID|1|77|VIK^TORA", "OBR|1|Blood", "OBX|2|Iron|17"],
        ),
        (TESTS, "OBX|1|Sodium|11", ["MSH|A|LAB|2|P", "PID|1|78|MOE^ELSE", "OBR|2|Water"]),
        (HOSTS, "Port 2202", ["Host dock"]),
        (HOSTS, "Port 2203", ["Host quay"]),
        (FILTER, ":OUT DROP [7:8]", ["*nat"]),
        (FILTER, "-A OUT -s 10.1.1.2/32 -j DROP", ["*filter"]),
        (BUILD, "make[1]: *** [Makefile:9: f.o] Error 2", ["make[1]: Entering directory '/src/quay'"]),
        (CHANGES, "- Fix the gate of the dock (#518)", [CHANGES.split("\n")[5]]),
        (CHANGES, "- Fix the door of the shed (#617)", [CHANGES.split("\n")[9]]),
        (PLAYLIST, "http://10.1.1.2/2.mp3", ['#EXTINF:180 group="Land",Old Dock']),
        (MAPS, "Rss:     4 kB", ["7f03c000-7f04d000 r--p 00001000 /lib/dock.so"]),
        (FILES, "Modify: 2021-03-05 11:00:00", ["File: /etc/dock.conf"]),
        (ACCOUNTS, "<TRNAMT>8.25", ["<STMTRS>", "<ACCTID>5511", "<STMTTRN>", "</STMTTRN>"]),
        (ACCOUNTS, "<TRNAMT>9.75", ["<STMTRS>", "<ACCTID>5522", "<STMTTRN>", "</STMTTRN>"]),
        (PRICES, "lamp & 8 \\\\", ["Part & Price \\\\ \\hline"]),
        (VERSIONS, "*** 1.2 500", ["crane:"]),
        (VERSIONS, "*** 2.1 500", ["lamp:"]),
        (LOCALE, "mon_grouping 3;3", ["LC_MONETARY", "END LC_MONETARY"]),
    ],
)
def test_lines_of_records_need_their_first_lines(text: str, line: str, heads: list[str]) -> None:
    assert set(heads) <= find_needs(text, line)


@pytest.mark.parametrize(
    ("text", "part", "head"),
    [
        (ROWS, "price = 42", "id = 2"),
        (ENTRIES, "delete: title\ntitle: judge\n-", "dn: uid=nils,dc=pier"),
        (HEADERS, "Entry:   0x42", "File: /lib/dock.so"),
        (LICENCES, "Comment: see the yard of the pier, north of it", "License: OAK-1"),
    ],
)
def test_parts_of_stanzas_need_their_first_lines(text: str, part: str, head: str) -> None:
    units = arrange(text, split_units(text), 0, lambda unit: True, Sizes(40, 40))
    assert {unit.kind for unit in units} == {"stanza"}
    parts = [text[unit.start : unit.end].strip() for unit in units]
    assert head in {parts[need] for need in units[parts.index(part)].link.needs}


@pytest.mark.parametrize(
    ("text", "line", "other"),
    [
        (FAMILY, "2 PLAC Hamar", "1 DIED"),
        (STATEMENT, ":62F:C27,75", ":61:0105D1,25"),
        (CASH_BOOK, "D3/6/2021", "D3/5/2021"),
        (TESTS, "OBX|1|Sodium|11", "OBR|1|Blood"),
        (HOSTS, "Host dock", "Host pier"),
        (FILTER, ":OUT DROP [7:8]", "*filter"),
        (BUILD, "  CC      c.o", "make[1]: Entering directory '/src/pier'"),
        (FILES, "Modify: 2021-03-05 11:00:00", "File: /etc/pier.conf"),
    ],
)
def test_lines_do_not_need_other_records(text: str, line: str, other: str) -> None:
    assert other not in find_needs(text, line.strip())


@pytest.mark.parametrize(
    "text",
    [FAMILY, STATEMENT, CASH_BOOK, PROCESSES, TESTS, HOSTS, FILTER, BUILD, PLAYLIST, MAPS, FILES],
)
def test_no_first_line_of_a_record_is_kept_alone(text: str) -> None:
    units = split_units(text)
    heads = {need for unit in units for need in unit.link.needs}
    assert heads
    assert all(units[head].link.needs for head in heads)


@pytest.mark.parametrize(
    "text",
    [
        "Tora: The pier is wet.\nNils: The dock is dry.\n" * 5,
        "Tora: Why?\nNils: No.\n" * 6,
        "- pier\n- dock\n- quay\n- shed\n- lamp\n- rope\n",
        "* gate\n* gate-b and its parts\n* lock\n" * 4,
        "a.py\nlib\nb.py\nsrc\nc.py\ndoc\nd.py\nbin\n",
        "home\nnews\nlearn\nwork\nhome\nevents\nlearn\nshare\n",
        "INFO pier opens\nINFO dock opens\nWARN quay leaks\nINFO shed opens\nWARN dock leaks\n" * 2,
        "pier 3 41\ndock 4 17\nquay 5 29\nshed 6 13\nlamp 7 11\nrope 8 19\n",
        "The pier was wet\nAnd the dock was dry\nThe quay was old\nA lamp was lit\nAnd ropes\nThe end\n",
        "31 pier\n42 dock\n53 quay\n31 shed\n64 lamp\n75 rope\n31 gate\n86 lock\n",
        "E11 pier\n--> a.py\nF12 dock\n--> b.py\nE11 quay\n--> c.py\nW13 shed\n--> d.py\n",
        "A11 pier\nhelp: wait\nB12 dock\nhelp: go\nC13 quay\nhelp: stay\nD14 shed\nhelp: sit\n",
        "a.c:3:5: error: pier\na.c:4:5: note: dock\nb.c:3:5: error: quay\nb.c:4:5: note: shed\n" * 2,
        "0 pier\n1 dock\n2 quay\n3 shed\n4 lamp\n5 rope\n6 gate\n",
    ],
)
def test_other_lines_are_no_records(text: str) -> None:
    units = split_units(text)
    assert not any(need < at - 1 for at, unit in enumerate(units) for need in unit.link.needs)


@pytest.mark.parametrize("text", [FAMILY, STATEMENT, CASH_BOOK, TESTS, FILTER, FILES, ENTRIES, ROWS])
def test_records_take_linear_time(text: str) -> None:
    assert grows_linearly(lambda size: split_units(text * (size // len(text))))
