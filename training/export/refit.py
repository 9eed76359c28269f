"""`python -m training.export.refit --config CONFIG --run RUN --out FOLDER`: fit the fusion, attention,
threshold, calibration and judgement of an artifact again, to the held-out questions of a run.

The encoder and everything else stay the same. RUN is a folder of `python -m training.selector`, at least
prepared (`--stage prepare`).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.score.fusion import ATTENTION_FILE, LEARNED_THRESHOLD, Fusion
from tersely.score.layout import LayoutConfig
from training.export.artifact import fit_decision, seal
from training.selector_model.config import SelectorConfig
from training.selector_model.groups import read_groups
from training.settings import read_settings

FACTS = ("base_model", "training_command", "data", "runs", "parity", "int8_narrowing", "embedding", "tools")
"""Facts of an artifact that stay true. Older artifacts do not have them all."""


def refit(config: SelectorConfig, artifact: Artifact, run: Path, target: Path) -> None:
    """Write the artifact to the new folder `target`, fitted to the held-out questions of the run.

    Raises ValueError for an artifact without a fitted decision.
    """
    if artifact.manifest.get("decision", "fitted") != "fitted":
        raise ValueError(f"{artifact.name} decides by its keep logit alone: there is nothing to fit")
    layout = LayoutConfig.from_dict(artifact.config["layout"])
    shutil.copytree(artifact.path, target)
    (target / ATTENTION_FILE).unlink(missing_ok=True)
    Fusion.from_keep_logit().save(target)
    seal(target, config, layout, LEARNED_THRESHOLD, "fitted")
    facts = {name: artifact.manifest[name] for name in FACTS if name in artifact.manifest}
    fit_decision(target, config, layout, "fitted", read_groups(run, "heldout"), facts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.export.refit", description=__doc__)
    parser.add_argument(
        "--config", type=Path, required=True, help="the settings that the artifact was trained with"
    )
    parser.add_argument("--artifact", type=Path, help="its folder; the bundled model by default")
    parser.add_argument("--run", type=Path, required=True, help="folder with the held-out questions")
    parser.add_argument("--out", type=Path, required=True, help="new folder for the artifact")
    args = parser.parse_args()
    config = read_settings(SelectorConfig, args.config)
    refit(config, load_artifact(args.artifact), args.run, args.out)


if __name__ == "__main__":
    main()
