"""Who caused what: accusations, victims, root causes, confidence. No files, no clock."""

from pdtriage.verdict.judgement import Judgement, judge, signatures_reported

__all__ = ["Judgement", "judge", "signatures_reported"]
