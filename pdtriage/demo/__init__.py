"""A small training job without Paddle that fails the way real ones do; `pdtriage demo` runs it."""
