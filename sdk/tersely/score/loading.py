"""Load the model of a compressor, and find its thresholds for the options `recall` and `abstain`."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from tersely.errors import InvalidInputError
from tersely.inputs import type_name
from tersely.options import CompressionOptions
from tersely.score.protocol import Scorer

if TYPE_CHECKING:
    from tersely.score.answerable import Abstention, Answerability
    from tersely.score.calibration import Calibration


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of a request, from the model's calibration."""

    recall: float | None = None
    """Score at which a unit is kept to meet `recall`; None without that option."""
    abstention: Abstention | None = None
    """Probability below which a request is refused; None without `abstain`."""


def load_scorer(model: str | Path | Scorer | None, threads: int | None) -> tuple[Scorer, str]:
    """Return the scorer for a `Compressor`'s `model`, and the name that receipts give it.

    Raises:
        ArtifactError: the model is missing, damaged, or made for another version.
        OfflineError: a hub model was named while `TERSELY_OFFLINE=1`.
        InvalidInputError: `model` is neither a name, nor a folder, nor a scorer.
    """
    if isinstance(model, str | Path | None):
        # Imported here: `import tersely` needs neither numpy nor tokenizers.
        from tersely.runtime.artifacts import load_artifact
        from tersely.score.selector import Selector

        artifact = load_artifact(model)
        return Selector.load(artifact, threads), f"{artifact.name}@{artifact.fingerprint}"
    numbers = (getattr(model, name, None) for name in ("threshold", "length_price"))
    if not callable(getattr(model, "score", None)) or not all(isinstance(n, Real) for n in numbers):
        raise InvalidInputError(
            f"The model is {type_name(model)}. Pass a folder, a hub name, or an object with score() "
            "and the numbers threshold and length_price."
        )
    return model, type(model).__name__


def find_thresholds(scorer: Scorer, name: str, options: CompressionOptions) -> Thresholds:
    """Return the thresholds for these options. `name` is the model's, for messages.

    Raises InvalidInputError if the scorer has no calibration for an option, or too small a one.
    """
    recall = abstention = None
    if options.recall is not None:
        calibration: Calibration | None = getattr(scorer, "calibration", None)
        if calibration is None:
            raise InvalidInputError(
                f"{name} has no calibration, which recall needs. Make one with `tersely calibrate`, or pass "
                "budget or rate."
            )
        try:
            recall = calibration.threshold(options.recall)
        except ValueError as error:
            raise InvalidInputError(
                f"recall is {options.recall}, but {error}. Lower it, or calibrate on more questions."
            ) from error
    if options.abstain is not None:
        answerability: Answerability | None = getattr(scorer, "answerability", None)
        if answerability is None:
            raise InvalidInputError(
                f"{name} cannot tell whether documents answer a question. Leave abstain out."
            )
        try:
            abstention = answerability.make_abstention(options.abstain)
        except ValueError as error:
            raise InvalidInputError(f"abstain is {options.abstain}, but {error}. Lower it.") from error
    return Thresholds(recall, abstention)
