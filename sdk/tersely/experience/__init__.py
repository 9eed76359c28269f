"""Lessons that outlive a run: what worked, what to avoid, and when that applies.

from tersely.experience import ExperienceBank, extract, format_experiences

bank = ExperienceBank("experience.db")
bank.add_all(extract(model, problem, attempts, run="monday"))
prompt = format_experiences(bank.recall("find the year a tower was built", problem))
"""

from tersely.experience.bank import ExperienceBank
from tersely.experience.extraction import Attempt, condense, extract, format_experiences
from tersely.experience.index import ExactIndex, FaissIndex, Index
from tersely.experience.types import Embedder, Experience, ExperienceError, Origin, Recalled, Record

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
