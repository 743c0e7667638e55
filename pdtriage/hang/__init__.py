"""Jobs that stand still: whether one does, by its own rhythm, and where its processes stand."""
