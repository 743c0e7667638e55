"""For those who write parsers: checks of signatures, a start for a new one, the catalogue."""
