"""Statutes and forms: a line comes with its divisions of a statute, or with the record around it."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.units import find_needs, grows_linearly

BRITISH = """PART 2
OBLIGATIONS OF OPERATORS

Chapter 1
General duties

§ 12
Duty to keep records

(1) An operator must keep a record of every journey for five years. It must be kept at the office.

(2) The record must contain
    (a) the name of the master;
    (b) the date of the journey.

Chapter 2
Passenger vessels

§ 14
Life jackets

An operator must carry one life jacket for each passenger. Ten per cent of them must be for children.

PART 3
PENALTIES

§ 15
Fines

(1) A person who breaches § 12 is liable to a fine of up to EUR 5,000.
"""
EUROPEAN = """Article 8

Register

Member States shall keep a register of vessels that carry passengers.

CHAPTER III

Penalties

SECTION 1

Fines

Article 9

Amount of fines

Member States shall lay down fines of at least EUR 2 000 for each breach.

SECTION 2

Other measures

Article 12a

Detention

The Agency may detain a vessel for ten days.
"""
MARGINAL = """                    THE HARBOUR ACT

                    PART I - PRELIMINARY

Short title and commencement.
1. (1) This Act may be cited as the Harbour Act.
   (2) This Act comes into force on 1st July.

Interpretation.
2. In this Act a master includes every person who has command of a vessel.

                    PART II - HARBOUR MASTERS

Appointment of harbour master.
3. (1) The Minister may appoint a harbour master for each harbour.
   (2) A person may not be appointed who is under thirty years or—
       (a) is a master of a vessel; or
       (b) has been convicted.
"""
MUNICIPAL = """ARTICLE IV. - HARBOR FEES

Sec. 10-31. - Definitions.

Berth means a place where a vessel is moored.

Sec. 10-32. - Fees for berths.

(a) The fee for a berth is $14 per night.

ARTICLE V. - ENFORCEMENT

§ 10-51. Formal Requirements; Statute of Piers.

A person who does not pay the fee is fined $100.
"""
GERMAN = """Abschnitt 2
Besondere Pflichten

§ 7 Fahrtenbuch
(1) Der Betreiber führt für jedes Schiff ein Fahrtenbuch.

§ 7a Elektronisches Fahrtenbuch
Das Fahrtenbuch kann auch elektronisch geführt werden.
"""
NOTES = """PROGRESS NOTE
Date: 03/14/2026
Provider: A. King, MD

SUBJECTIVE:
Patient reports pain since Monday.

OBJECTIVE:
BP 142/90, HR 88

ASSESSMENT:
1. Hypertension, uncontrolled

PROGRESS NOTE
Date: 03/28/2026
Provider: B. Ray, MD

SUBJECTIVE:
Patient feels better.

OBJECTIVE:
BP 128/82, HR 76

ASSESSMENT:
1. Hypertension, improved
"""
HEADS = {
    "a part, its title, a chapter and a section": (
        BRITISH,
        "(a) the name of the master;",
        {
            *("PART 2", "OBLIGATIONS OF OPERATORS", "Chapter 1", "General duties", "§ 12"),
            *("Duty to keep records", "(2) The record must contain"),
        },
    ),
    "another chapter": (
        BRITISH,
        "Ten per cent of them must be for children.",
        {
            *("PART 2", "OBLIGATIONS OF OPERATORS", "Chapter 2", "Passenger vessels", "§ 14", "Life jackets"),
        },
    ),
    "another part": (
        BRITISH,
        "(1) A person who breaches § 12 is liable to a fine of up to EUR 5,000.",
        {"PART 3", "PENALTIES", "§ 15", "Fines"},
    ),
    "an excerpt that begins with an article": (
        EUROPEAN,
        "The Agency may detain a vessel for ten days.",
        {"CHAPTER III", "Penalties", "SECTION 2", "Other measures", "Article 12a", "Detention"},
    ),
    "titles above numbers": (
        MARGINAL,
        "(b) has been convicted.",
        {
            *("THE HARBOUR ACT", "PART II - HARBOUR MASTERS", "Appointment of harbour master."),
            *(
                "3. (1) The Minister may appoint a harbour master for each harbour.",
                "(2) A person may not be appointed who is under thirty years or—",
            ),
        },
    ),
    "a title with full stops": (
        MUNICIPAL,
        "(a) The fee for a berth is $14 per night.",
        {"ARTICLE IV. - HARBOR FEES", "Sec. 10-32. - Fees for berths."},
    ),
    "a title after a paragraph sign": (
        MUNICIPAL,
        "A person who does not pay the fee is fined $100.",
        {"ARTICLE V. - ENFORCEMENT", "§ 10-51. Formal Requirements; Statute of Piers."},
    ),
    "a number with a letter": (
        GERMAN,
        "Das Fahrtenbuch kann auch elektronisch geführt werden.",
        {"Abschnitt 2", "Besondere Pflichten", "§ 7a Elektronisches Fahrtenbuch"},
    ),
    "the second record of a form": (
        NOTES,
        "BP 128/82, HR 76",
        {"PROGRESS NOTE", "Date: 03/28/2026", "Provider: B. Ray, MD", "OBJECTIVE:"},
    ),
}


@pytest.mark.parametrize(("text", "line", "heads"), HEADS.values(), ids=HEADS)
def test_a_line_needs_its_divisions(text: str, line: str, heads: set[str]) -> None:
    assert find_needs(text, line) == heads


def test_sentences_about_sections_are_no_titles() -> None:
    text = """The fee is described in
Section 5. It does not apply to ferries of the town, and it is paid at night.

Section 5 applies to all vessels that are longer than twelve metres.

Article 7 Fees must be paid at noon.
"""
    assert {unit.kind for unit in split_units(text)} <= {"sentence", "line", "list_item"}


def test_lines_of_a_table_of_contents_are_no_titles() -> None:
    text = "Contents\n\nChapter 1 Ropes\nChapter 2 Hooks\nChapter 3 Lamps\n\nThe ropes are red.\n"
    assert find_needs(text, "Chapter 2 Hooks") == {"Contents"}


ELIXIR = '''defmodule Crane.Rope do
  @moduledoc """
  Ropes of a crane.

  ## Examples

      iex> Rope.new(12)
  """

  @doc """
  Cut a rope into pieces of equal length.

  Returns the pieces.
  """
  @spec cut(t, integer) :: [t]
  def cut(rope, n) do
    div(rope, n)
  end

  @doc "Tie two ropes."
  def tie(a, b), do: a + b

  defp check(rope) do
    if rope > 40 do
      raise ArgumentError, "too long"
    end
  end
end
'''


def test_a_function_in_elixir_keeps_its_document() -> None:
    result = Compressor().compress("What does cut return?", [ELIXIR], budget=75)
    assert "Returns the pieces." in result.text
    assert "def cut(rope, n) do\n    div(rope, n)\n  end" in result.text


LOG = """2026-03-14 10:02:11.482 UTC [1432] LOG:  statement: BEGIN
2026-03-14 10:02:11.483 UTC [1432] ERROR:  duplicate key value violates unique constraint "cranes_pkey"
2026-03-14 10:02:11.483 UTC [1432] DETAIL:  Key (id)=(7) already exists.
2026-03-14 10:02:11.483 UTC [1432] STATEMENT:  INSERT INTO cranes (id) VALUES (7)
2026-03-14 10:02:12.001 UTC [1440] LOG:  checkpoint starting: time
2026-03-14 10:02:12.001 UTC [1440] LOG:  checkpoint complete: time
"""


def test_the_details_of_an_error_of_postgresql_belong_to_it() -> None:
    units = [LOG[unit.start : unit.end] for unit in split_units(LOG)]
    assert [unit.count("\n") for unit in units] == [0, 2, 0, 0]


PARTS = ("PART 2\nROPES\n\n§ 7 Hooks\nThey are.\n\n", "Short title.\n1. This is.\n\n", NOTES)


@pytest.mark.parametrize("part", PARTS)
def test_divisions_and_forms_are_found_in_linear_time(part: str) -> None:
    assert grows_linearly(lambda size: split_units(part * (size * 4 // len(part))))
