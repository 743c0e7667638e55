"""How nodes meet, and what they tell each other while the job runs."""
