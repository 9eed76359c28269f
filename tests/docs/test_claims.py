"""Sentences of the README and of the pages on memory and adapters that promise something have a test.

A sentence with one of `WORDS` is a promise and stands in `CLAIMS` with its tests, or it is none and stands in
`PLAIN`. What a promise says is what its tests check; docs/guarantees.md does the same in tables of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import defined_tests, prose

WORDS = re.compile(r"\b(never|always|every|no|at most|guarantees?|guaranteed)\b", re.IGNORECASE)
_ENDS = re.compile(r"(?<=[.!?:|])\s+|\n\n|\n(?=[-#|] )")

CLAIMS: dict[str, dict[str, tuple[str, ...]]] = {
    "README.md": {
        "no GPU, no PyTorch, no network, no API key.": (
            "test_7_a_compression_never_touches_the_network",
            "test_no_heavy_module_is_installed",
        ),
        "every unit, with its place, its score and the reason why it was kept or dropped.": (
            "test_every_unit_has_one_span_with_its_score_and_reason",
        ),
        "at most 800 tokens; titles and blank lines count too |": (
            "test_2_the_text_is_never_over_the_limit_and_never_longer_than_the_input",
        ),
        "at most a quarter of the input's tokens |": ("test_a_rate_never_allows_more_than_its_share",),
        "every unit that reaches the model's own threshold, so the size varies |": (
            "test_a_unit_that_scores_too_low_is_dropped_for_the_threshold",
        ),
        "Every character that is not white space is in one span of `kept` or `dropped`.": (
            "test_1_the_text_is_made_of_exact_pieces_and_the_receipt_covers_every_unit",
        ),
        "the result never exceeds `budget` or `rate`, nor the input.": (
            "test_2_the_text_is_never_over_the_limit_and_never_longer_than_the_input",
        ),
        "A sentence of up to 1,000 characters is never cut.": (
            "test_5_and_6_a_unit_is_whole_unless_it_alone_exceeds_the_limit",
            "test_only_structure_and_endless_sentences_may_be_cut",
        ),
    },
    "docs/memory.md": {
        "Messages of the user are never refused:": (
            "test_a_first_message_longer_than_the_limit_is_shortened_and_can_be_opened",
            "test_a_user_message_never_stops_a_pin_or_a_system_message",
            "test_random_transcripts_keep_every_guarantee",
        ),
        "If no user has said anything, what covers most of the results is kept.": (
            "test_messages_without_a_user_are_compressed_within_a_limit",
        ),
        "If nothing was taken out, there are no notes, and the model is not asked.": (
            "test_nothing_is_noted_where_nothing_was_taken_out",
        ),
        "the most tokens of the notes, at most a quarter of the limit |": (
            "test_extractive_notes_stay_within_their_limit",
            "test_a_long_summary_is_shortened",
        ),
        "keeps every change in a file; see below |": ("test_a_session_continues_where_it_ended",),
        "so killing the process loses at most the change under way.": (
            "test_killed_writers_lose_no_acknowledged_append",
        ),
        "Every row has a checksum:": ("test_corrupted_files_raise_one_error_and_never_give_other_content",),
        "names the session and the row, and gives no other content.": (
            "test_damage_names_the_session_the_row_and_the_remedy",
            "test_corrupted_files_raise_one_error_and_never_give_other_content",
        ),
    },
    "docs/mcp.md": {
        "follows no link, also none inside of it.": (
            "test_nothing_leaks_while_folders_are_swapped_for_links",
            "test_links_inside_of_a_folder_are_not_followed_either",
        ),
        "One call reads at most 1,000 files or documents and 4 MB of text.": (
            "test_too_much_input_is_refused",
        ),
        "It keeps at most 1,000 tokens unless the agent passes a `budget` or a `rate`.": (
            "test_without_a_limit_the_default_budget_holds",
        ),
        "`expand` shows at most 20,000 characters at once.": ("test_long_documents_are_shown_in_parts",),
    },
    "docs/langchain.md": {
        "What was sent once never changes, so prompt caches stay warm.": (
            "test_what_was_sent_once_stays_at_the_start_of_the_next_prompt",
        ),
        "all but the `keep` newest tool results in at most `over` tokens each.": (
            "test_older_results_are_shown_compressed_and_stay_whole_in_the_history",
        ),
    },
    "docs/llamaindex.md": {
        "Nodes of every class with text are compressed:": (
            "test_documents_and_nodes_of_every_class_are_compressed",
        ),
        "in at most `budget` tokens:": ("test_a_long_conversation_stays_within_its_limit",),
        "what no longer fits is reduced to its most relevant sentences |": (
            "test_a_long_conversation_stays_within_its_limit",
        ),
        "also brings back lessons, in at most half of the budget;": (
            "test_lessons_leave_room_for_the_conversation",
        ),
    },
    "docs/haystack.md": {},
}
"""End or part of a sentence, and its tests, by page."""

PLAIN = {
    "There is no release yet, so you install from a clone:",
    "have no GPU, must stay offline, or have to say where a sentence comes from.",
    "A provider's prompt cache needs the same text in every call,",
    "**Tasks that need every word:**",
    "[Guarantees](docs/guarantees.md) gives the exceptions and the tests.",
    "[how it works](docs/how-it-works.md), [guarantees](docs/guarantees.md), [results](docs/results.md).",
    "(Windows has no such handles; there a path is checked before and after it is opened.)",
    "It has no password:",
    "Requests of the protocol of 2026-07-28 have no session:",
}
"""Parts of sentences that promise nothing: advice, links, limitations."""


def promises(page: str) -> Iterator[str]:
    """The sentences of a page that hold one of the words."""
    for sentence in _ENDS.split(prose(page)):
        if WORDS.search(sentence):
            yield " ".join(sentence.split())


@pytest.mark.parametrize("page", CLAIMS)
def test_every_promise_of_a_page_has_a_test(page: str) -> None:
    found = list(promises(page))
    known = {*CLAIMS[page], *PLAIN}
    assert [sentence for sentence in found if not any(part in sentence for part in known)] == []
    assert [part for part in CLAIMS[page] if not any(part in sentence for sentence in found)] == []


def test_the_tests_of_the_promises_exist() -> None:
    named = {name for claims in CLAIMS.values() for tests in claims.values() for name in tests}
    assert all(tests for claims in CLAIMS.values() for tests in claims.values())
    assert named - defined_tests() == set()


def test_a_promise_without_a_test_is_found() -> None:
    assert WORDS.search("A memory never forgets.")
    assert not WORDS.search("A memory is a file.")
