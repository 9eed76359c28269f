"""A paper's run at full scale: its settings and its environment. `training/runs/verl` has the recipes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tersely.compressor import Compressor
from tersely.types import Document
from tersely_agents.agent import Reading, SelectedSentences, StrategyName, WrittenSummary, read_passages
from tersely_agents.agent.recon import STOP
from tersely_agents.chat import ChatModel, Message
from tersely_agents.summaries import Summarizer
from training.chats import open_chat
from training.retrieval.client import RemoteRetriever
from training.rl.algorithms import evolving, grpo, hrr, supo
from training.rl.environments.search import (
    Question,
    SearchEnvironment,
    SearchTask,
    load_task_set,
    match_exactly,
)
from training.rl.experience.editions import Editions
from training.rl.experience.evolution import Evolution
from training.rl.judge import Judge
from training.rl.language.chat import Chat
from training.rl.trajectory import Trajectory

VALIDATION = 100
"""Maximum number of questions to validate with; at most a tenth of all."""
_BYTES = 16
"""Number of bytes of a parameter in training: weights, gradients, and Adam's moments and master weights (2 +
2 + 12)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of a paper's run. Comments in the configuration say which numbers are the paper's."""

    paper: str
    policy: str
    """A model on the hub, or a folder."""
    parameters: float
    """Parameters of the policy, in billions."""
    algorithm: Literal["ppo", "grpo", "hrr", "supo", "evolving"]
    strategy: StrategyName
    reading: Literal["passages", "selected", "summary", "pages"]
    """The part of a search's results that the agent reads. "pages" gives it ZipRL's tools instead: `search`
    returns whole results, and `open_page` opens one."""
    data: list[str]
    """Sets of `benchmarks.shared.tasks`, for their training questions, or files of JSON lines with
    `question`, `answers` and, without a retriever, `docs`."""
    questions: int
    """Number of questions of each set to train on and validate with."""
    turns: int
    k: int
    reply_tokens: int
    context_tokens: int
    """Maximum number of tokens of a context with its reply."""
    batch: int
    """Number of questions per step."""
    mini_batch: int
    group: int
    """Number of rollouts per question."""
    steps: int
    learning_rate: float
    warm_up: float = 0.0
    """Share of the steps with a rising learning rate."""
    critic_learning_rate: float = 0.0
    critic_warm_up: float = 0.0
    clip: float = 0.2
    value_clip: float = 0.5
    kl: float = 0.0
    """Weight of the KL, in the reward with "ppo", else in the loss."""
    entropy: float = 0.0
    temperature: float = 1.0
    sft_questions: int = 0
    """Number of further questions of each set, for the rollouts of `training.rl.harvest`; 0 for those to
    train on. A set that has too few is shared in proportion."""
    validation_temperature: float = 0.0
    """Temperature of the validation. 0 takes the most likely tokens."""
    w: float = 0.2
    """Weight of the quality with "hrr" (ZipRL, equation 4)."""
    reset_tokens: int = 8000
    """SUPO's L, with the strategy "reset"."""
    resets: int = 7
    """SUPO's S."""
    result_tokens: int = 2000
    """Largest number of tokens of a tool result. A longer one is compressed."""
    retriever: str = ""
    """URL of a server of `training.retrieval`; "" searches the documents of the questions."""
    summarizer: str = ""
    """Frozen model, such as openai:URL#MODEL, with the reading "summary"; "" quotes the passages."""
    judge: str = ""
    """Model that accepts answers; "" for exact match."""
    bank: str = ""
    """Experience bank that the run starts from. Published editions are next to it in BANK.run."""
    extractor: str = ""
    """Frozen model that extracts lessons from rollouts; "" leaves the bank as it is."""

    def __post_init__(self) -> None:
        if self.extractor and not self.bank:
            raise ValueError("extractor needs a bank to start from")
        if self.reading == "pages" and self.strategy == "recon":
            raise ValueError('the strategy "recon" cannot open pages')

    @property
    def stop_texts(self) -> tuple[str, ...]:
        return STOP if self.strategy == "recon" else ()

    @property
    def step_tokens(self) -> int:
        """Maximum number of tokens that one step reads and writes."""
        return self.batch * self.group * self.context_tokens

    def gigabytes(self, gpus: int) -> float:
        """Return the memory of weights, gradients and optimiser on each of `gpus`; a critic counts like a
        policy."""
        models = 2 if self.algorithm == "ppo" else 1
        return models * self.parameters * _BYTES / gpus


def make_algorithm(recipe: Recipe) -> Callable[..., Any]:
    """Return the function from trajectories to targets. Raises ValueError for "ppo", which needs verl's
    critic."""
    known = {
        "grpo": grpo.make_targets,
        "hrr": partial(hrr.make_targets, w=recipe.w),
        "supo": supo.make_targets,
        "evolving": evolving.make_targets,
    }
    if recipe.algorithm not in known:
        raise ValueError(f"{recipe.algorithm} has no targets without a critic")
    return known[recipe.algorithm]


class Questions:
    """The questions of a recipe among the documents of all of them."""

    def __init__(self, environment: SearchEnvironment) -> None:
        self.environment = environment

    def pose(self, index: int) -> SearchTask:
        """Return the task of the question with this index."""
        return self.environment.make_task(self.environment.questions[index], random.Random(index), 1.0)


def load_questions(
    recipe: Recipe, *, data: Path | None = None, part: Literal["rl", "sft"] = "rl"
) -> tuple[list[Question], dict[str, Document]]:
    """Load a part of the questions of all of a recipe's sets, mixed, and their documents.

    Args:
        part: "rl" for the questions of the run, with those for validation at the end (`count_training`);
            "sft" for the questions of the harvest, without questions for validation.

    Raises ValueError if a set gives no question. Without a retriever, it also does if no question has a
    document with its answer.
    """
    questions: list[Question] = []
    documents: dict[str, Document] = {}
    wanted = recipe.questions + recipe.sft_questions
    for name in recipe.data:
        found, own = load_task_set(name, data=data, limit=wanted)
        answered = [q for q in found if q.answers]
        usable = [q for q in answered if recipe.retriever or q.documents]
        if not usable:
            lacks = "no document holds an answer, and retriever is empty" if found else "it is empty"
            raise ValueError(f"nothing can be learned from the {len(found)} questions of {name}: {lacks}")
        if len(usable) < len(found):
            print(
                f"{name}: {len(found) - len(usable)} of {len(found)} questions are left out:"
                f" {len(found) - len(answered)} have no answer, of {len(answered) - len(usable)} no document"
                " holds an answer"
            )
        first = len(usable) * recipe.questions // wanted
        questions += usable[first:] if part == "sft" and recipe.sft_questions else usable[:first]
        documents |= own
    random.Random(len(questions)).shuffle(questions)
    if part == "sft" and not recipe.sft_questions:
        questions = questions[: count_training(len(questions))]
    return questions, documents


def count_training(questions: int) -> int:
    """Return the number of a run's questions to train on; the rest, after them, is for validation."""
    return questions - min(VALIDATION, questions // 10)


def load_environment(recipe: Recipe, tokenizer: Any) -> Questions:
    """Load a recipe's environment, with the documents of its questions."""
    return Questions(make_environment(recipe, tokenizer, *load_questions(recipe)))


def make_environment(
    recipe: Recipe,
    tokenizer: Any,
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    *,
    summarizer: ChatModel | None = None,
    judge: ChatModel | None = None,
) -> SearchEnvironment:
    """Make a recipe's environment with these documents. The models are those of the recipe unless given.

    Raises ValueError if the bank is missing or empty.
    """
    compressor = Compressor()
    judge = judge or (open_chat(recipe.judge) if recipe.judge else None)
    return SearchEnvironment(
        questions,
        documents,
        Chat(tokenizer),
        strategy=recipe.strategy,
        read=make_reading(recipe, compressor, summarizer),
        k=recipe.k,
        max_turns=recipe.turns,
        max_reply=recipe.reply_tokens,
        positions=recipe.context_tokens,
        compressor=compressor,
        experience=open_editions(recipe).read if recipe.bank else None,
        retriever=RemoteRetriever(recipe.retriever) if recipe.retriever else None,
        score=match_exactly if judge is None else Judge(judge),
        reset_tokens=recipe.reset_tokens,
        resets=recipe.resets,
        result_tokens=recipe.result_tokens,
    )


def name_bank_folder(recipe: Recipe) -> Path:
    """Return the folder of the files that a run makes from its bank."""
    return Path(f"{recipe.bank}.run")


def open_editions(recipe: Recipe) -> Editions:
    """Open the published editions of a recipe's bank. Raises ValueError if the bank is missing or empty."""
    return Editions(name_bank_folder(recipe) / "editions", Path(recipe.bank))


def make_evolution(
    recipe: Recipe, read: Callable[[Trajectory], Sequence[Message]], extractor: ChatModel | None = None
) -> Evolution:
    """Make the learner of a recipe's bank."""
    extractor = extractor or open_chat(recipe.extractor)
    return Evolution(name_bank_folder(recipe), Path(recipe.bank), extractor, read)


def make_reading(
    recipe: Recipe, compressor: Compressor, summarizer: ChatModel | None = None
) -> Reading | None:
    """Return the function that makes the text for the agent; None for ZipRL's tools.

    If the recipe names a summarizer, it writes the summaries, with RECON's sampling (appendix B.4). Otherwise
    they consist of sentences of the passages.
    """
    if recipe.reading == "pages":
        return None
    if recipe.reading == "passages":
        return read_passages
    if recipe.reading == "selected":
        return SelectedSentences(compressor)
    if summarizer is None and recipe.summarizer:
        summarizer = open_chat(recipe.summarizer, temperature=0.7, top_p=0.9, top_k=40)
    return WrittenSummary(Summarizer(summarizer, compressor=compressor))
