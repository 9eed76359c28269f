"""Lessons that outlive a run: what worked, what to avoid, and when that applies.

from tersely_agents.experience import ExperienceBank, extract, format_experiences

bank = ExperienceBank("experience.db")
bank.add_all(extract(model, problem, attempts, run="monday"))
prompt = format_experiences(bank.recall("find the year a tower was built", problem))
"""

from tersely_agents.experience.bank import ExperienceBank
from tersely_agents.experience.extraction import Attempt, condense, extract, format_experiences
from tersely_agents.experience.index import ExactIndex, FaissIndex, Index
from tersely_agents.experience.types import Embedder, Experience, ExperienceError, Origin, Recalled, Record

__all__ = [
    "Attempt",
    "Embedder",
    "ExactIndex",
    "Experience",
    "ExperienceBank",
    "ExperienceError",
    "FaissIndex",
    "Index",
    "Origin",
    "Recalled",
    "Record",
    "condense",
    "extract",
    "format_experiences",
]
