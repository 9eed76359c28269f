"""`python -m benchmarks`: write every section of RESULTS.md again, from the recorded runs in `baselines/`.

Nothing is measured. It serves whoever changes the words or the layout of a section.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from benchmarks.adapters.report import AdaptersRun
from benchmarks.adapters.report import render as render_adapters
from benchmarks.agent.report import render as render_agent
from benchmarks.agent.rows import AgentRun
from benchmarks.attacks.report import AttacksRun
from benchmarks.attacks.report import render as render_attacks
from benchmarks.latency.prepared.report import render as render_prepared
from benchmarks.latency.prepared.rows import PreparedRun
from benchmarks.latency.report import render_latency, render_throughput
from benchmarks.latency.rows import LatencyRun, ThroughputRun
from benchmarks.memory.report import render as render_memory
from benchmarks.memory.rows import MemoryRun
from benchmarks.peers.report import render as render_peers
from benchmarks.peers.rows import PeersRun
from benchmarks.quality.allocation import AllocationRun
from benchmarks.quality.allocation import render as render_allocation
from benchmarks.quality.calibration import CalibrationRun
from benchmarks.quality.calibration import render as render_calibration
from benchmarks.quality.reading import ReadingRun
from benchmarks.quality.reading import render as render_reading
from benchmarks.quality.report import render as render_quality
from benchmarks.quality.rows import QualityRun
from benchmarks.records import read_record
from benchmarks.results import baseline_path, fill_section
from benchmarks.retrieval.merging import MergingRun
from benchmarks.retrieval.merging import render as render_merging
from benchmarks.retrieval.report import render as render_retrieval
from benchmarks.retrieval.rows import RetrievalRun
from benchmarks.summaries.labels import LabelsRun
from benchmarks.summaries.labels import render as render_labels
from benchmarks.summaries.report import render as render_summaries
from benchmarks.summaries.rows import SummariesRun
from benchmarks.summaries.shorter import ShorterRun
from benchmarks.summaries.shorter import render as render_shorter
from benchmarks.surfaces.bill import BillRun
from benchmarks.surfaces.bill import render as render_bill
from benchmarks.surfaces.playground import PlaygroundRun
from benchmarks.surfaces.playground import render as render_playground
from benchmarks.surfaces.proxy import ProxyRun
from benchmarks.surfaces.proxy import render as render_proxy
from benchmarks.surfaces.server import ServerRun
from benchmarks.surfaces.server import render as render_server
from benchmarks.tool_results.report import ToolResultsRun
from benchmarks.tool_results.report import render as render_tool_results
from benchmarks.without_question.report import OpenRun
from benchmarks.without_question.report import render as render_without_question

SECTIONS: dict[str, tuple[type, Callable[[Any], str]]] = {
    "quality": (QualityRun, render_quality),
    "attacks": (AttacksRun, render_attacks),
    "peers": (PeersRun, render_peers),
    "tool_results": (ToolResultsRun, render_tool_results),
    "without_question": (OpenRun, render_without_question),
    "reading": (ReadingRun, render_reading),
    "memory": (MemoryRun, render_memory),
    "calibration": (CalibrationRun, render_calibration),
    "retrieval": (RetrievalRun, render_retrieval),
    "merging": (MergingRun, render_merging),
    "allocation": (AllocationRun, render_allocation),
    "summaries": (SummariesRun, render_summaries),
    "summary_labels": (LabelsRun, render_labels),
    "shorter": (ShorterRun, render_shorter),
    "agent": (AgentRun, render_agent),
    "latency": (LatencyRun, render_latency),
    "prepared": (PreparedRun, render_prepared),
    "adapters": (AdaptersRun, render_adapters),
    "server": (ServerRun, render_server),
    "proxy": (ProxyRun, render_proxy),
    "playground": (PlaygroundRun, render_playground),
    "bill": (BillRun, render_bill),
    "throughput": (ThroughputRun, render_throughput),
}
"""By section, the type of its recorded run and what renders it."""


def render_baseline(section: str) -> str:
    """The text of a section, from its recorded run."""
    kind, render = SECTIONS[section]
    return render(read_record(baseline_path(section), kind))


def main() -> int:
    """Fill every section."""
    for section in SECTIONS:
        fill_section(section, render_baseline(section))
    return 0


if __name__ == "__main__":
    sys.exit(main())
