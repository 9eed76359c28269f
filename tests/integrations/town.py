"""Two short documents of a town, and a question that one sentence of them answers."""

from __future__ import annotations

QUESTION = "On which day is the museum free?"
ANSWER = "Entry is free on Thursdays."
MUSEUM = f"The museum is in Hill Street. {ANSWER} It opened in 1904."
HARBOUR = "The harbour was dug in 1871. Its crane still works."
