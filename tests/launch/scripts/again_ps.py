"""A server waits for its end; trainer 1 fails in the first attempt only."""

import os
import sys
import time

role = os.environ["TRAINING_ROLE"]
if role == "PSERVER":
    time.sleep(300)
failing = os.environ["PADDLE_TRAINER_ID"] == "1" and "PDTRIAGE_ATTEMPT" not in os.environ
sys.exit(4 if failing else 0)
