"""Experiences that several tests use."""

from __future__ import annotations

from typing import Any

from tersely_agents.experience import Experience


def make_experience(title: str, problem: str = "Who built the tower?", **changes: Any) -> Experience:
    """Return an experience of a success, with defaults for everything but the title."""
    values: dict[str, Any] = {"description": "When a date is asked.", "success": True, **changes}
    return Experience(title, content="Look it up.", problem=problem, **values)


CHECK = make_experience("Check two sources")
QUIZ = make_experience("Guzzle quick jazz", problem="Which fjord has waxy quartz?")
OTHER_QUIZ = make_experience("Big fjords vex", problem="Who grabbed the fabled jackpot?")
