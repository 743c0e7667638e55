"""Bytes to typed events, one file at a time."""

from pdtriage.scan.launcher_output import side_facts
from pdtriage.scan.scan_file import events_of, scan
from pdtriage.scan.scanner import Engine, FileScanner

__all__ = ["Engine", "FileScanner", "events_of", "scan", "side_facts"]
