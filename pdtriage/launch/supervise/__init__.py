"""Processes: started, watched, stopped, written down."""
