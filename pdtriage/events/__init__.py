"""Bytes to typed events, one file at a time."""

from pdtriage.events.scanner import Engine, FileScanner, events_of, scan
from pdtriage.events.sidefiles import side_facts

__all__ = ["Engine", "FileScanner", "events_of", "scan", "side_facts"]
