"""What the tool knows, read from parsers/*.toml: signatures, line prefixes, clocks, counters."""

from pdtriage.knowledge.load import KnowledgeError, load_knowledge
from pdtriage.knowledge.signature import Format, Knowledge, Signature

__all__ = ["Format", "Knowledge", "KnowledgeError", "Signature", "load_knowledge"]
