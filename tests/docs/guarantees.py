"""Tests of each guarantee on docs/guarantees.md, by its number."""

GUARANTEES: dict[int, tuple[str, ...]] = {
    1: (
        "tests/sdk/test_guarantees.py::test_1_2_5_6_text_receipt_limits_and_units_are_right",
        "tests/sdk/test_pack_marks.py",
    ),
    2: (
        "tests/sdk/test_guarantees.py::test_1_2_5_6_text_receipt_limits_and_units_are_right",
        "tests/sdk/test_guarantees.py::test_2_kept_scores_reach_that_of_the_best_unit_that_fits",
    ),
    3: (
        "tests/sdk/test_guarantees.py::test_3_same_input_gives_same_output_in_batches_and_threads",
        "tests/sdk/test_prepared.py",
    ),
    4: (
        "tests/sdk/test_guarantees.py::test_4_failing_model_without_a_limit_returns_everything",
        "tests/sdk/test_guarantees.py::test_4_within_a_limit_a_failing_model_keeps_the_limit",
        "tests/sdk/test_guarantees.py::test_4_bad_arguments_raise_only_errors_of_tersely",
        "tests/sdk/test_bad_calls.py",
        "tests/integrations/test_bad_arguments.py",
    ),
    5: (
        "tests/sdk/test_guarantees.py::test_1_2_5_6_text_receipt_limits_and_units_are_right",
        "tests/audit/test_requests.py",
        "tests/sdk/test_split_cutting.py",
        "tests/sdk/test_split_json.py",
        "tests/sdk/test_split_settings.py",
        "tests/sdk/test_split_xml.py",
        "tests/sdk/test_tool_results.py",
        "tests/audit/test_foreign.py",
    ),
    6: (
        "tests/sdk/test_guarantees.py::test_1_2_5_6_text_receipt_limits_and_units_are_right",
        "tests/sdk/test_split_cutting.py",
        "tests/sdk/test_split_sentences.py",
    ),
    7: (
        "tests/sdk/test_guarantees.py::test_7_a_compression_never_touches_the_network",
        "tests/contracts/test_network.py",
        "tests/contracts/test_wheel.py",
        "tests/sdk/test_hub.py",
        "tests/sdk/test_http.py",
    ),
    8: (
        "tests/sdk/test_messages.py::test_only_the_texts_of_tool_results_change",
        "tests/sdk/test_memory.py::test_random_transcripts_keep_every_guarantee",
        "tests/sdk/test_memory_store.py::test_killed_agents_lose_no_acknowledged_append",
        "tests/sdk/test_memory_store.py::test_corrupted_files_never_give_other_content",
        "tests/sdk/test_memory_survival.py",
        "tests/sdk/test_memory_notes.py",
        "tests/sdk/test_private_files.py",
    ),
    9: (
        "tests/sdk/test_experience_bank.py",
        "tests/sdk/test_experience_history.py",
        "tests/sdk/test_experience_extraction.py::test_nested_tags_cannot_end_the_block",
    ),
    10: (
        "tests/integrations/test_documents.py::test_every_character_leads_back_to_its_source",
        "tests/integrations/test_objects.py",
        "tests/integrations/test_langchain_memory.py::test_the_model_never_sees_more_than_the_limit",
        "tests/integrations/test_langchain_originals.py",
        "tests/integrations/test_mcp_folders.py",
        "tests/integrations/test_mcp_transports.py",
        "tests/integrations/test_http.py::test_half_open_requests_end",
    ),
}
"""Files, or single tests as `file::test`."""
