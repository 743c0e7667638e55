"""`write_environment.py FOLDER`: each process leaves its environment there, by role and rank."""

import json
import os
import sys
from pathlib import Path

role = os.environ.get("TRAINING_ROLE", "TRAINER")
rank = os.environ.get("PADDLE_TRAINER_ID", "0")
file = Path(sys.argv[1], f"{role}.{rank}.json")
file.write_text(json.dumps(dict(os.environ)))
