"""The training sets that may be used, as model cards name them."""

from __future__ import annotations

from collections.abc import Iterable

SOURCES = {
    "squad_train44": ("SQuAD 1.1, 44 articles of its training part", "CC BY-SA 4.0"),
    "squadshifts_wiki": ("SQuADShifts, new Wikipedia", "CC BY 4.0"),
    "qed_nq": ("QED, on Natural Questions passages", "CC BY-SA 3.0"),
    "selqa": ("SelQA", "Apache-2.0"),
    "fairytaleqa": ("FairytaleQA", "Apache-2.0"),
    "hotpotqa": ("HotpotQA, 200 training questions", "CC BY-SA 4.0"),
    "twowiki": ("2WikiMultihopQA, 500 training questions", "Apache-2.0"),
    "qmsum": ("QMSum", "MIT"),
    "fever_athnlp": ("FEVER, claims with their evidence", "CC BY-SA 3.0"),
    "package_questions": (
        "questions of this project on documentation and sources of packages (`training/package_questions`)",
        "of each package",
    ),
    "tool_results": (
        "questions of this project on results of tools (`benchmarks/real_results/training`)",
        "Apache-2.0, and of each package whose files a result shows",
    ),
    "traj_fireact": ("FireAct, runs of a ReAct agent with GPT-4, on questions of HotpotQA and others", "MIT"),
    "chains2": (
        "two-hop questions chained from qed_nq, selqa, squad_train44, squadshifts_wiki",
        "CC BY-SA 4.0, CC BY-SA 3.0, CC BY 4.0, Apache-2.0",
    ),
    "chains3": ("three-hop questions from the same", "CC BY-SA 4.0, CC BY-SA 3.0, CC BY 4.0, Apache-2.0"),
}
"""Description and licence of each training set."""
OWN = ("a set of the trainer's own", "not stated here")


def render_sources(names: Iterable[str]) -> str:
    """Return a Markdown table of these sets."""
    rows = "\n".join(f"| {name} | {' | '.join(SOURCES.get(name, OWN))} |" for name in names)
    return f"| set | what | licence |\n|---|---|---|\n{rows}"
