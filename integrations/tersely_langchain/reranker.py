"""A reranker of tersely as a LangChain cross-encoder."""

from __future__ import annotations

from langchain_core.cross_encoders import BaseCrossEncoder

from tersely import Document, InvalidInputError
from tersely.inputs import check_list, check_members
from tersely.rerank import Relevance, Reranker

_PAIRS = "Pass a list of pairs: a query and a text."


class TerselyReranker(BaseCrossEncoder):
    """For `CrossEncoderReranker(model=TerselyReranker(), top_n=3)`.

    Args:
        reranker: any of `tersely.rerank`; None for the relevance that the bundled model gives.

    Raises:
        InvalidInputError: the reranker has no method `rank`.
    """

    def __init__(self, reranker: Reranker | None = None) -> None:
        if reranker is not None:
            remedy = "Pass an object with rank(), such as those of tersely.rerank."
            check_members(reranker, ("rank",), "reranker", remedy)
        self._reranker = reranker or Relevance()

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """How relevant each text is to its query, for pairs of (query, text). Pairs with the same query are
        read together.

        Raises InvalidInputError for anything but pairs of texts.
        """
        text_pairs = check_list(text_pairs, tuple | list, "text_pairs", _PAIRS)
        if any([type(text) for text in pair] != [str, str] for pair in text_pairs):
            raise InvalidInputError(f"text_pairs has what is no pair of texts. {_PAIRS}")
        places_of: dict[str, list[int]] = {}
        for place, (query, _) in enumerate(text_pairs):
            places_of.setdefault(query, []).append(place)
        scores = [0.0] * len(text_pairs)
        for query, places in places_of.items():
            documents = [Document(text_pairs[place][1]) for place in places]
            for place, score in zip(places, self._reranker.rank(query, documents), strict=True):
                scores[place] = score
        return scores
