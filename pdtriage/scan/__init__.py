"""Bytes to typed events, one file at a time."""

from pdtriage.events.compiled import Engine
from pdtriage.events.scanner import FileScanner
from pdtriage.events.sidefiles import side_facts
from pdtriage.events.whole import events_of, scan

__all__ = ["Engine", "FileScanner", "events_of", "scan", "side_facts"]
