"""`python -m training.rl.imitate --rollouts FOLDER/rollouts.jsonl --base MODEL --out RUN`

Supervised training on good rollouts of `training.rl.harvest`, such as those of Evolving Rollouts with
recalled lessons (section 3.3) or ZipRL's cold start (appendix A).

The rollouts must be those of a policy with the base's tokenizer. RUN gets the whole model, or with --rank an
adapter. It runs on several GPUs under `torchrun`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from training.causal import Adapter, add_adapter, load_causal
from training.rl.engines.sft import imitate, keep_good
from training.rl.trajectory import Trajectory
from training.run import read_whole_lines


def read_good(file: Path, threshold: float) -> list[Trajectory]:
    """Read the rollouts with an answer that earned at least `threshold`. Raises ValueError if there are
    none."""
    made = [Trajectory.from_dict(row["trajectory"]) for row in read_whole_lines(file)]
    good = keep_good(made, threshold)
    if not good:
        raise ValueError(
            f"none of the {len(made)} rollouts in {file} has an answer with a reward of {threshold}"
        )
    return good


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.rl.imitate", description=__doc__)
    parser.add_argument("--rollouts", type=Path, required=True)
    parser.add_argument("--base", required=True, help="a folder, or a model on the hub")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rank", type=int, default=0, help="of an adapter; 0 trains all weights")
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--learning-rate", type=float, default=1e-5)
    parser.add_argument("--batch", type=int, default=1, help="segments at once on each GPU")
    args = parser.parse_args()
    good = read_good(args.rollouts, 1.0)
    model, tokenizer = load_causal(args.base, trains_all=not args.rank)
    if args.rank:
        model = add_adapter(model, Adapter(args.rank, 2 * args.rank, layers=1000))
    loss = imitate(
        model,
        good,
        args.out,
        epochs=args.epochs,
        batch=args.batch,
        learning_rate=args.learning_rate,
        show=True,
    )
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    print(f"{len(good)} rollouts, loss {loss:.3f} nats a token")


if __name__ == "__main__":
    main()
