"""`write_environment.py FOLDER PROCESSES`: each leaves its environment there, by role and rank.

All stay until everybody has: servers are ended as soon as the trainers are gone.
"""

import json
import os
import sys
import time
from pathlib import Path

folder, processes = Path(sys.argv[1]), int(sys.argv[2])
role = os.environ.get("TRAINING_ROLE", "TRAINER")
file = folder / f"{role}.{os.environ.get('PADDLE_TRAINER_ID', '0')}.json"
half = file.with_suffix(".half")
half.write_text(json.dumps(dict(os.environ)))
half.rename(file)
patience = time.monotonic() + 60
while len(list(folder.glob("*.json"))) < processes and time.monotonic() < patience:
    time.sleep(0.05)
