"""Random lives of jobs, and what is lost of them: nothing. `make torture` runs many."""
