"""Lessons that outlive a run: what worked, what failed, and when that applies.

```python
from tersely_agents.experience import ExperienceBank, extract, format_experiences

bank = ExperienceBank("experience.db")
bank.add_all(extract(model, problem, attempts, run="monday"))
prompt = format_experiences(bank.recall("find the year a tower was built", problem))
```
"""

from tersely_agents.experience.bank import ExperienceBank
from tersely_agents.experience.extraction import Attempt, condense, extract, format_experiences
from tersely_agents.experience.types import Experience, ExperienceError, Origin, Recalled, Record
from tersely_agents.experience.vectors import Embedder

__all__ = [
    "Attempt",
    "Embedder",
    "Experience",
    "ExperienceBank",
    "ExperienceError",
    "Origin",
    "Recalled",
    "Record",
    "condense",
    "extract",
    "format_experiences",
]
