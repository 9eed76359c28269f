"""LLMLingua's `PromptCompressor` with tersely inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from tersely.compat.arguments import check_texts, refuse
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_count
from tersely.types import Compression

PRICE = 0.06 / 1000
"""Dollars per token, by which LLMLingua computes the saving."""
_INIT_DEFAULTS: MappingProxyType[str, Any] = MappingProxyType(
    {
        "device_map": "cpu",
        "model_config": {},
        "open_api_config": {},
        "use_llmlingua2": False,
        "use_slingua": False,
        "llmlingua2_config": {},
    }
)
_CALL_DEFAULTS: MappingProxyType[str, Any] = MappingProxyType(
    {
        "force_context_ids": None,
        "force_context_number": None,
        "use_sentence_level_filter": False,
        "use_context_level_filter": True,
        "use_token_level_filter": True,
        "keep_split": False,
        "keep_first_sentence": 0,
        "keep_last_sentence": 0,
        "keep_sentence_number": 0,
        "high_priority_bonus": 100,
        "add_instruction": False,
        "context_segs": None,
        "context_segs_rate": None,
        "context_segs_compress": None,
        "context_level_rate": 1.0,
        "context_level_target_token": -1,
        "return_word_label": False,
        "word_sep": "\t\t|\t\t",
        "label_sep": " ",
        "token_to_word": "mean",
        "force_tokens": [],
        "force_reserve_digit": False,
        "drop_consecutive": False,
        "chunk_end_tokens": [".", "\n"],
        "strict_preserve_uncompressed": True,
    }
)
_OWN_STEPS = (
    "condition_compare",
    "context_budget",
    "dynamic_context_compression_ratio",
    "iterative_size",
    "rank_method",
    "token_budget_ratio",
)
"""Settings of steps that only LLMLingua has. They promise nothing about the result, so any value is taken."""
_CONDITIONS = ("none", "before", "after", "before_condition", "after_condition")
_ORDERS = {"original": "source", "sort": "rerank"}


class PromptCompressor:
    """`llmlingua.PromptCompressor` with tersely: keeps whole sentences that the question needs, on a CPU.

    Args:
        model_name: a model of tersely; None for the bundled one. Models of LLMLingua cannot be used.
        device_map: "cpu".
        compressor: a compressor to use instead of `model_name`, for example for its token counter.
        others: LLMLingua's other arguments, with their default values.

    Raises:
        InvalidInputError: an argument has no meaning here, or both a model and a compressor are given.
    """

    def __init__(
        self,
        model_name: str | Path | None = None,
        device_map: str = "cpu",
        *,
        compressor: Compressor | None = None,
        **others: Any,
    ) -> None:
        refuse("PromptCompressor", {"device_map": device_map, **others}, _INIT_DEFAULTS)
        if model_name is not None and compressor is not None:
            raise InvalidInputError("Both model_name and compressor are given. Pass one of them.")
        self._compressor = compressor or Compressor(model_name)

    def compress_prompt(
        self,
        context: str | Sequence[str],
        instruction: str = "",
        question: str = "",
        rate: float = 0.5,
        target_token: float = -1,
        *,
        concate_question: bool = True,
        condition_in_question: str = "none",
        reorder_context: str = "original",
        target_context: int = -1,
        **others: Any,
    ) -> dict[str, Any]:
        """Keep the sentences of `context` that the question needs, between instruction and question.

        Args:
            context: a text, or a text for each document.
            instruction: comes first in the prompt, unchanged. It is the query if there is no question. With
                neither, the sentences that tell most about the context are kept.
            question: the query, whatever the value of `condition_in_question`. It comes last in the prompt,
                unchanged, unless `concate_question` is False.
            rate: most tokens of the compressed context, as a share.
            target_token: most tokens of the compressed context; takes precedence over `rate`.
            reorder_context: "original", or "sort" for the most relevant first.
            target_context: keep only this many documents, the most relevant.
            others: LLMLingua's other arguments, with their default values. Settings of steps that only
                LLMLingua has, such as `rank_method`, may have any value.

        Returns:
            "compressed_prompt", "compressed_prompt_list" (the text of each document of which something is
            kept), "origin_tokens" and "compressed_tokens" (of the whole prompt, by tersely's counter),
            "ratio" (origin / compressed), "rate" (its inverse) and "saving" in LLMLingua's format,
            "compression" (tersely's result with the receipt), and "without_effect" (the names of settings
            that were given and changed nothing).

        Raises:
            InvalidInputError: an argument has no meaning here.
        """
        without_effect = [name for name in others if name in _OWN_STEPS]
        rest = {name: value for name, value in others.items() if name not in _OWN_STEPS}
        refuse("compress_prompt", rest, _CALL_DEFAULTS)
        if condition_in_question not in _CONDITIONS:
            raise InvalidInputError(
                f"condition_in_question is {condition_in_question!r}. Leave it out; tersely always uses the "
                "question."
            )
        if reorder_context not in _ORDERS:
            raise InvalidInputError(f"reorder_context is {reorder_context!r}. Pass 'original' or 'sort'.")
        for name, value in (("question", question), ("instruction", instruction)):
            if not isinstance(cast("object", value), str):
                raise InvalidInputError(f"{name} is a {type(value).__name__}. Pass text.")
        contexts = [context] if isinstance(context, str) else check_texts(context, "context")
        size: dict[str, Any] = {"rate": rate}
        if target_token != -1:
            whole = isinstance(target_token, float) and target_token.is_integer()
            target = int(target_token) if whole else target_token
            size = {"budget": check_count(target, "target_token", "tokens")}
        compression = self._compressor.compress(
            next(filter(str.strip, (question, instruction)), None),
            contexts,
            **size,
            max_docs=None if target_context == -1 else target_context,
            order="source" if reorder_context == "original" else "rerank",
        )
        result = self._build_result(compression, contexts, instruction, question, concate_question)
        return {**result, "without_effect": without_effect}

    __call__ = compress_prompt

    def structured_compress_prompt(self, *_: Any, **__: Any) -> dict[str, Any]:
        """LLMLingua's call for prompts with tags. Always raises InvalidInputError, which names the remedy."""
        raise InvalidInputError(
            "tersely reads no <llmlingua> tags. Pass the sections to compress_prompt as a list, and put what "
            "must stay whole into the instruction."
        )

    def _build_result(
        self,
        compression: Compression,
        contexts: Sequence[str],
        instruction: str,
        question: str,
        ends_with_question: bool,
    ) -> dict[str, Any]:
        last = question if ends_with_question else ""
        prompt = "\n\n".join(part for part in (instruction, compression.text, last) if part)
        count = self._compressor.count_tokens
        before, after = count("\n\n".join([instruction, *contexts, question]).strip()), count(prompt)
        ratio = before / after if after else 1.0
        return {
            "compressed_prompt": prompt,
            "compressed_prompt_list": [document.text for document in compression.documents],
            "origin_tokens": before,
            "compressed_tokens": after,
            "ratio": f"{ratio:.1f}x",
            "rate": f"{100 / ratio:.1f}%",
            "saving": f", Saving ${(before - after) * PRICE:.1f} in GPT-4.",
            "compression": compression,
        }
