"""A language model that judges answers (Evolving Rollouts, appendix B.2: the reward of a rollout)."""

from __future__ import annotations

import re
from functools import cache

from tersely.metrics import exact_match
from tersely_agents.chat import ChatModel
from tersely_agents.chat.protocol import complete_safely, remove_thoughts
from training.rl.environments.search import Question

_PROMPT = """Question: {question}
Right answer: {answers}
Given answer: {answer}

Does the given answer say the same as the right answer? More words or another form are no mistake; another \
or an additional claim is. Answer with one word: YES or NO."""
_VERDICT = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
TRIES = 2
"""Number of calls of the model before a verdict that cannot be read is an error."""


class Judge:
    """Score of answers (`SearchEnvironment.score`): 1.0 if the model accepts the answer, else 0.0. An exact
    match is not shown to the model, and no answer is judged twice.

    Raises ChatError if the model does not answer, and ValueError if it gives no verdict: a judge that is
    down must not look like wrong answers.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._ask = cache(self._ask_once)

    def __call__(self, question: Question, answer: str) -> float:
        if exact_match(answer, question.answers):
            return 1.0
        return self._ask(question.text, question.answers, answer) if answer.strip() else 0.0

    def _ask_once(self, question: str, answers: tuple[str, ...], answer: str) -> float:
        prompt = _PROMPT.format(question=question, answers=" or ".join(answers), answer=answer)
        text = ""
        for _ in range(TRIES):
            text = complete_safely(self._model, [{"role": "user", "content": prompt}], temperature=0.0).text
            if verdict := _VERDICT.match(remove_thoughts(text)):
                return float(verdict[1].lower() == "yes")
        raise ValueError(f"the judge {self._model.name} says neither YES nor NO: {text[:80]!r}")
