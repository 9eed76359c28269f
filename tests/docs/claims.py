"""Sentences of the README and of docs/ that promise something, with their tests, and such as only seem to.

A sentence stands here by its end or a part of it.
"""

from __future__ import annotations

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
            "test_5_and_6_units_are_whole_or_truncated_blocks",
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
    "docs/advisor.md": {
        "A `budget` always is,": ("test_a_budget_is_kept_whatever_the_advisor_says",),
        "under a budget, the advisor has no say.": ("test_a_budget_is_kept_whatever_the_advisor_says",),
        "If no text of a request pays, its status is `bypassed`;": (
            "test_what_does_not_pay_is_forwarded_as_it_is_with_the_bill",
        ),
        "A speed of your own, as above, reads and writes no file.": (
            "test_a_speed_of_your_own_reads_and_writes_no_file",
        ),
    },
    "docs/agents.md": {
        "the memory allowed no further reset or step |": (
            "test_an_episode_that_may_not_be_reset_again_is_overlong_from_its_start",
            "test_an_overlong_transcript_ends_the_episode",
        ),
        "the model's server gave no reply |": (
            "test_a_broken_tool_and_a_broken_server_are_not_the_models_fault",
        ),
        "what the model wrote is never shortened:": (
            "test_a_long_summary_stays_as_it_is",
            "test_notes_that_cannot_stay_as_they_are_end_the_episode",
        ),
        "a reply that is no action ends it as `malformed`": (
            "test_a_turn_that_cannot_be_read_is_not_corrected",
            "test_what_is_no_action_is_followed_by_the_correction",
        ),
        "A turn that is no search and no answer is followed by a sentence": (
            "test_what_is_no_action_is_followed_by_the_correction",
        ),
        "and there are at most seven resets.": ("test_the_episodes_own_memory_is_supos",),
        "the model writes one response and goes on with it after every search:": (
            "test_the_response_grows_from_action_to_action",
        ),
    },
    "docs/command-line.md": {
        "`inspect` checks every checksum of a model,": ("test_inspect_lists_verified_files",),
        "The file that is checked is never changed.": (
            "test_doctor_saves_what_is_left_of_a_session",
            "test_a_whole_bank_is_well_and_stays_as_it_is",
        ),
        "the model failed on a request, or had no time left;": (
            "test_within_a_limit_a_failing_model_leaves_exact_matches_and_exits_with_4",
            "test_a_timeout_that_is_too_short_leaves_exact_matches_and_exits_with_4",
        ),
        "no colours, as": ("test_colour_depends_on_choice_terminal_and_environment",),
    },
    "docs/experience.md": {
        "takes out lessons that were used at least three times and never helped.": (
            "test_experiences_that_never_helped_are_forgotten_after_enough_uses",
        ),
        "as if the revoked ones had never been added:": (
            "test_a_revoked_run_leaves_the_bank_as_if_it_had_never_been",
        ),
    },
    "docs/how-it-works.md": {
        "At most 256 sentences take part, those that score best.": (
            "test_sentences_beyond_the_best_keep_their_logits",
        ),
        "every unit that scores at least the model's own threshold |": (
            "test_with_a_threshold_every_unit_that_reaches_it_is_kept",
        ),
        "every unit that scores at least the threshold calibrated for 0.95 |": (
            "test_with_a_recall_everything_above_its_threshold_is_kept",
        ),
        "and fewer where some parts hold every word of the question.": (
            "test_little_is_read_where_few_records_hold_every_word_of_the_question",
        ),
        "so it is no content:": ("test_a_comment_is_a_unit_of_its_own",),
        'and its reason is `"markup"`,': ("test_an_order_in_a_comment_is_dropped_as_markup",),
        "If no unit fits, the result is empty.": (
            "test_2_the_text_is_never_over_the_limit_and_never_longer_than_the_input",
        ),
        "No model reads anything.": ("test_names_and_numbers_come_first_once_and_no_model_is_asked",),
        "header row; no markup |": ("test_a_page_loses_its_markup_and_keeps_the_row_with_its_header",),
        "A mark counts the parts that are missing in its place,": (
            "test_nothing_false_is_said_and_every_omission_is_counted",
            "test_what_parsed_still_parses_and_every_omission_is_counted",
        ),
        "or nothing where the document has no white space either": (
            "test_a_separator_comes_from_the_source",
        ),
        "`result.marks` lists every mark.": ("test_a_mark_stands_wherever_a_block_was_cut",),
        "The *receipt* says what happened to every unit:": (
            "test_every_unit_has_one_span_with_its_score_and_reason",
        ),
        "no room was left |": ("test_a_candidate_that_does_not_fit_is_dropped_for_the_budget",),
        "no room was left at its document's level |": (
            "test_a_unit_that_finds_no_room_in_its_level_is_dropped_for_the_level",
        ),
        "the documents hold no text |": ("test_documents_without_text_are_bypassed",),
        "the threshold is the highest one that loses at most 5 % of these questions,": (
            "test_a_threshold_loses_as_many_questions_as_the_recall_allows",
        ),
    },
    "docs/local-models.md": {
        "no server, no network, no key.": (
            "test_a_model_works_offline",
            "test_nobody_else_can_reach_the_model",
        ),
    },
    "docs/migrating.md": {
        "An argument that has no meaning here raises an `InvalidInputError`,": (
            "test_arguments_without_a_meaning_are_refused",
            "test_default_values_of_llmlingua_are_accepted",
        ),
        "limits for the context, which are never exceeded;": ("test_the_context_keeps_its_token_limit",),
        "Single words are never dropped,": ("test_a_sentence_is_never_cut",),
    },
    "docs/operations.md": {
        "by default it is every core that the process may use:": (
            "test_a_session_uses_at_most_the_threads_of_the_caller_and_the_machine",
        ),
        "The proxy remembers the texts it has shortened, at most 32 million characters,": (
            "test_the_proxy_remembers_a_limited_number_of_characters",
        ),
        "checksums are verified, no code of a model is run |": (
            "test_the_error_names_the_damage_and_its_remedy",
            "test_no_code_of_a_model_is_run",
        ),
        "A failing model loses no request:": (
            "test_4_without_a_limit_a_failing_model_gives_everything_back",
            "test_4_within_a_limit_a_failing_model_keeps_the_limit",
        ),
    },
    "docs/proxy.md": {
        "results of tools that have no error |": (
            "test_results_and_contexts_are_found_with_what_they_are_needed_for",
        ),
        "Instructions, the user's own words, the model's replies, calls, images and ids never change.": (
            "test_only_the_named_strings_change",
        ),
        "The log has times, sizes and statuses, and no texts.": (
            "test_credentials_are_forwarded_and_never_logged",
        ),
        "Originals stay in RAM, at most 32 million characters, under ids that nobody can guess.": (
            "test_the_proxy_remembers_a_limited_number_of_characters",
        ),
        "It follows no redirects.": ("test_the_proxy_follows_no_redirect",),
    },
    "docs/secrets.md": {
        "Ids of messages and tool calls are never changed.": ("test_the_ids_of_tool_calls_stay",),
        "it has a digit, it is no placeholder": ("test_ordinary_text_stays",),
    },
    "docs/server.md": {
        "Every answer without a result has the body": (
            "test_other_paths_and_methods_are_refused_in_the_same_form",
            "test_an_error_of_the_server_repeats_no_query_and_no_document",
        ),
        "It repeats no query and no document, and at most 80 characters of another value.": (
            "test_an_error_of_the_server_repeats_no_query_and_no_document",
            "test_an_error_of_the_server_repeats_little_of_another_value",
        ),
        "so that no web page can reach the server through a name of its own.": (
            "test_web_pages_cannot_reach_a_server_without_a_key_through_a_name_of_theirs",
        ),
        "There are no CORS headers, so no other web page can read an answer.": (
            "test_no_other_web_page_can_read_an_answer",
        ),
        "With `--log-text` it also has the queries, and never documents.": (
            "test_the_log_has_queries_if_asked_for",
        ),
    },
    "docs/summaries.md": {
        "A summary here is a text in which every sentence names the places": (
            "test_without_a_model_the_summary_quotes_the_documents",
            "test_sentences_of_the_model_have_sources",
        ),
        "It needs no language model.": ("test_without_a_model_the_summary_quotes_the_documents",),
        "Without one, the summary holds every sentence above the model's own threshold.": (
            "test_without_a_budget_a_summary_holds_what_a_compression_keeps",
        ),
        "The model reads at most 280 tokens that the compressor chose, and writes greedily.": (
            "test_a_trained_model_reads_what_it_was_made_for_and_writes_the_likeliest_text",
        ),
        "A sentence is dropped if no document supports it,": (
            "test_what_remains_is_grounded_like_a_quotation",
        ),
        "keeps sentences that no document supports,": ("test_unsupported_sentences_are_flagged",),
        "the model reads at most 2,000 tokens, chosen by the compressor;": (
            "test_preselection_limits_what_the_model_reads",
        ),
        "lists numbers, dates, names and identifiers of the sentence that are in no document.": (
            "test_unknown_facts_are_listed_in_supported_sentences_too",
            "test_facts_that_no_document_contains_are_listed",
        ),
    },
    "docs/telemetry.md": {
        "They hold numbers and names, and no text:": ("test_spans_and_metrics_hold_no_text",),
        "no question, document, title or id, and no message of an error.": (
            "test_spans_and_metrics_hold_no_text",
        ),
        "Every call of `compress` is one span,": (
            "test_a_compression_is_a_span_with_its_numbers",
            "test_compressions_of_a_batch_belong_to_the_span_around_it",
            "test_compressions_inside_of_other_calls_are_spans",
        ),
        "shortens send no such events;": ("test_compressions_inside_of_other_calls_are_spans",),
    },
    "docs/prepared.md": {
        "and every other one that promises nearly as much as the best;": (
            "test_of_prepared_documents_only_the_promising_ones_are_read",
            "test_of_many_windows_a_share_is_read",
        ),
        "[guarantees](guarantees.md) hold.": (
            "test_prepared_documents_keep_every_guarantee_where_most_are_ruled_out",
            "test_for_a_promised_recall_everything_is_read",
            "test_a_question_in_another_script_rules_nothing_out",
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
    # Advice, and what is said of others:
    "Some tasks need every word:",
    "no price makes up for what is lost there.",
    "its reading takes no time |",
    "where the call sets no limit |",
    "Fewer tokens save money, now and in every later call.",
    "a short text differs from question to question, so no cache holds it.",
    "The notes on SUPO give no number.",
    "the agent has no answer |",
    "No threshold tells the two apart,",
    "The program needs no change but its base URL.",
    "A provider's cache needs the same beginning in every request of a conversation.",
    "Use `keep` for tools whose every line counts:",
    "GGUF, which exists for nearly every open model |",
    "about a copper roof, which no document says.",
    # Limitations:
    "Splitting and writing always run to their end,",
    "There is no encryption",
    # What was measured, and how:
    "the score, raised a little if a neighbouring sentence scores high,",
    "because that package would otherwise compile a second copy",
    "Loaded in 0.4 s, at most 269 MB of RAM.",
    "A request of 10 passages takes a third of a second on two cores,",
    "A secret counts as caught where no eight characters in a row of it are left.",
    "Every third kind was held out while the rules were written.",
    "False alarms, in text that every machine with this repository's test environment has:",
    "No sentence of prose was changed that holds no such text.",
    "prints recall by kind and every false alarm.",
    # Links:
    "used only where you name a hub or a server ([Guarantees](guarantees.md#7-offline)) |",
    "`reason` says why, and a warning is logged under `tersely`",
}
"""Parts of sentences that promise nothing: advice, links, limitations."""
