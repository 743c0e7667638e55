"""The laboratory: real jobs with faults drawn at random, each with a truth that is written before
the tool looks. ``make lab SEED=… COUNT=…``; docs/laboratory.md.
"""
