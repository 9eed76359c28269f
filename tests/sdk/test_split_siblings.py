"""Records that begin alike stand beside each other: the first line of one is no head of the next."""

from __future__ import annotations

import pytest

from tests.sdk.units import find_needs

VERBS = ("lifts", "drops", "turns", "lifts", "paints", "oils", "turns")
THINGS = ("stone", "lamp", "rope", "horn", "hook", "mast", "bell")
MISMATCH = "error[E0308]: two types where one was expected"


def test_scenarios_that_share_words_stand_beside_each_other() -> None:
    titles = [f"{verb} the {thing}" for verb, thing in zip(VERBS, THINGS, strict=True)]
    text = "Feature: cranes\n" + "".join(
        f"\n  Scenario: {title}\n    Given the rope {at}\n    When {at} cranes lift\n"
        for at, title in enumerate(titles)
    )
    for at, title in enumerate(titles):
        assert find_needs(text, f"Given the rope {at}") == {"Feature: cranes", f"Scenario: {title}"}


def test_messages_of_other_kinds_stand_beside_each_other() -> None:
    heads = [f"error[E0425]: no {thing}" if at % 3 != 1 else MISMATCH for at, thing in enumerate(THINGS)]
    text = "\n\n".join(
        f"{head}\n --> pier.rs:{at}:18\n  |\n{at} |     let crane = {at};\n  |     ^^^ none"
        for at, head in enumerate(heads)
    )
    for at, head in enumerate(heads):
        needs = find_needs(text, f"{at} |     let crane = {at};")
        assert {need for need in needs if need.startswith("error")} == {head}


def test_requests_with_other_methods_stand_beside_each_other() -> None:
    pairs = [("POST", "/rope"), ("GET", "/lamp"), ("GET", "/horn"), ("POST", "/stone"), ("GET", "/crane")]
    text = "\n".join(
        f"> {method} {path} HTTP/1.1\n> Host: pier{at}.example\n>\n< HTTP/1.1 20{at} Fine\n< Length: {at}1\n<"
        for at, (method, path) in enumerate(pairs)
    )
    for at, (method, path) in enumerate(pairs):
        needs = find_needs(text, f"> Host: pier{at}.example")
        assert {need for need in needs if need.endswith(" HTTP/1.1")} == {f"> {method} {path} HTTP/1.1"}


def test_the_last_of_several_blocks_may_have_lines_of_its_own() -> None:
    block = "{0}  <{1}.0.0\nSeverity: high\nSlow {0} in the yard\nfix available\npier/{0}\n"
    inner = "  {0}-knot  >=1.0.0\n  Depends on {0}\n  pier/{0}-knot\n"
    names = ("rope", "lamp", "horn")
    text = "# report\n\n" + "\n".join((block + inner).format(name, at + 2) for at, name in enumerate(names))
    text += (
        "\ncrane  <9.0.0\nSeverity: high\nDenial of crane\nPrototype of crane\nfix available\npier/crane\n"
    )
    for line in ("Denial of crane", "Prototype of crane", "pier/crane"):
        assert "crane  <9.0.0" in find_needs(text, line)


@pytest.mark.parametrize("sign", ["●", "○", "×"])
def test_services_below_a_sentence_keep_their_entries(sign: str) -> None:
    unit = (
        "{0} {1}.service - the {1} of the pier\n     Loaded: loaded (/{1}.service)\n     Active: running\n\n"
        "Nov 19 19:23:37 pier {1}[113{2}]: lifts the {1}\nNov 20 07:27:27 pier {1}[113{2}]: drops the {1}\n"
    )
    names = ("rope", "lamp", "horn")
    text = "The keeper sent the states of all services.\n\n"
    text += "\n".join(unit.format(sign, name, at) for at, name in enumerate(names))
    for at, name in enumerate(names):
        needs = find_needs(text, f"Nov 19 19:23:37 pier {name}[113{at}]: lifts the {name}")
        assert f"{sign} {name}.service - the {name} of the pier" in needs


def test_results_of_tests_come_with_the_program_that_ran_them() -> None:
    report = (
        "     Running tests/{0}.rs (target/debug/deps/{0}-7b5a)\n\nrunning 2 tests\ntest {0}::lift ... ok\n"
        "test {0}::drop ... ok\n\nfailures:\n\n---- {0}::lift stdout ----\nno rope for {0}\n\n\nfailures:\n"
        "    {0}::lift\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; {1} measured; in 0.3s\n\n"
    )
    names = ("crane", "lamp", "horn")
    text = "   Compiling pier v0.3.1\n" + "".join(report.format(name, at) for at, name in enumerate(names))
    for at, name in enumerate(names):
        head = f"Running tests/{name}.rs (target/debug/deps/{name}-7b5a)"
        total = f"test result: FAILED. 1 passed; 1 failed; 0 ignored; {at} measured; in 0.3s"
        for line in (f"test {name}::drop ... ok", f"no rope for {name}", f"{name}::lift", total):
            assert {need for need in find_needs(text, line) if need.startswith("Running")} == {head}


def test_a_file_between_signs_is_the_head_of_its_contents() -> None:
    file = "=== /yard/{0}.pem ===\nCertificate:\n    Data:\n        Version: 3\n    Owner: {0}\n"
    text = "\n".join(map(file.format, ("crane", "lamp")))
    assert "=== /yard/crane.pem ===" in find_needs(text, "Owner: crane")
    assert "=== /yard/lamp.pem ===" in find_needs(text, "Owner: lamp")
    assert "=== /yard/crane.pem ===" not in find_needs(text, "Owner: lamp")
