"""What the tool knows, read from parsers/*.toml: signatures, line prefixes, clocks, counters."""

from pdtriage.knowledge.load import load_knowledge
from pdtriage.knowledge.signature import Format, Knowledge, Signature

__all__ = ["Format", "Knowledge", "Signature", "load_knowledge"]
