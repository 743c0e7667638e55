import socket
import time

import recipe

rank, world = recipe.start()
for attempt in range(2):
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    except OSError as problem:
        print(f"server not ready, wait 1 sec to retry... ({attempt + 1}/5) {problem}")
        print("not ready endpoints:['127.0.0.1:9']")
        time.sleep(1)
print("metrics server skipped")
recipe.train(rank)
print("training finished")
