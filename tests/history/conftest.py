from tests.cli.conftest import failed_job, pdtriage

__all__ = ["failed_job", "pdtriage"]
