"""The log: JSON lines on standard error. It has neither documents nor keys."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

logger = logging.getLogger("tersely.http")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)  # ASCII, so that no text can break a line or a terminal


def log_to_stderr() -> None:
    """Send all logs of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logger.setLevel(logging.INFO)


def log_request(fields: dict[str, Any]) -> None:
    """One line about an answered request."""
    logger.info("request", extra={"fields": fields})
