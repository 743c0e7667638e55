"""A trainer that checks its world: every process asks every other one who it thinks is there.

world.py --until FILE      trains until FILE exists
         --fragile         fails, as a collective would, when another process is gone
         --fail RANK:CODE[:always]   that rank exits so at step --fail-at of the first attempt
         --linger SECONDS  before it ends, so that the others still meet it
"""

import argparse
import json
import os
import socket
import sys
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--until", required=True)
parser.add_argument("--fragile", action="store_true")
parser.add_argument("--fail", default="")
parser.add_argument("--fail-at", type=int, default=5)
parser.add_argument("--linger", type=float, default=0.0)
options = parser.parse_args()

rank = int(os.environ["PADDLE_TRAINER_ID"])
attempt = int(os.environ.get("PDTRIAGE_ATTEMPT", "0"))
endpoints = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
world = {
    "size": int(os.environ["PADDLE_TRAINERS_NUM"]),
    "nodes": int(os.environ["PADDLE_NNODES"]),
    "endpoints": endpoints,
    "master": os.environ["PADDLE_MASTER"],
}
print("WORLD", json.dumps({"rank": rank, "attempt": attempt, **world}), flush=True)
host, port = endpoints[rank].rsplit(":", 1)
server = socket.create_server((host, int(port)), backlog=64)


def answer():
    while True:
        connection, _ = server.accept()
        with connection:
            connection.sendall(json.dumps(world).encode())


threading.Thread(target=answer, daemon=True).start()


def ask(endpoint):
    name, number = endpoint.rsplit(":", 1)
    with socket.create_connection((name, int(number)), timeout=5) as connection:
        heard = b""
        while chunk := connection.recv(65536):
            heard += chunk
    if not heard:
        raise ConnectionResetError(104, "Connection reset by peer")
    return json.loads(heard)


for other, endpoint in enumerate(endpoints):
    while other != rank:
        try:
            seen = ask(endpoint)
        except OSError:
            time.sleep(0.05)
            continue
        if seen != world:
            print("WRONG", other, json.dumps(seen), flush=True)
            sys.exit(77)
        break
print("MET", len(endpoints), flush=True)

failing, _, rest = options.fail.partition(":")
code, _, when = rest.partition(":")
step = 0
while not os.path.exists(options.until):
    step += 1
    print("step", step, flush=True)
    if failing == str(rank) and (when or attempt == 0) and step == options.fail_at:
        sys.exit(int(code))
    if options.fragile:
        for other, endpoint in enumerate(endpoints):
            if other != rank:
                ask(endpoint)
    time.sleep(0.1)
print("DONE", flush=True)
# As at the end of a collective: nobody is gone before all are done.
time.sleep(1.0 if options.fragile else options.linger)
