"""The `tersely` command."""

from tersely.cli.commands import main

__all__ = ["main"]
