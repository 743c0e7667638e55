"""What failed before: a store of reports, kept where somebody asks for it, and what it tells."""
