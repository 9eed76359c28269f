"""A ledger of shortened texts and their costs, in one SQLite file that has no text of a request.

- `store`: the file with a row for each request, and its arm: shortened, held out or in shadow
- `compressor`: a compressor that records what it does, for the adapters
- `usage`: the tokens that a provider reports in its answers
- `comparison`: the cost of shortened conversations next to that of held-out ones, with an interval
- `report`: all of it as one object
- `show` and `page`: the report as text, and as one page of HTML
"""

from tersely_ledger.compressor import RecordingCompressor
from tersely_ledger.store import Entry, Ledger, LedgerError, LedgerSettings, default_path
from tersely_ledger.usage import Usage, UsageReader

__all__ = [
    "Entry",
    "Ledger",
    "LedgerError",
    "LedgerSettings",
    "RecordingCompressor",
    "Usage",
    "UsageReader",
    "default_path",
]
