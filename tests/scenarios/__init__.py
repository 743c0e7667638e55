"""Real jobs under the real launchers of Paddle, and what each of them is known to have died of.

``python -m tests.scenarios list`` names them; ``record`` runs them and stores their log folders.
"""
