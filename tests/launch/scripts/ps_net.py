"""Servers, trainers, heter trainers and coordinators that check their variables and exchange bytes.

`ps_net.py [steps=N] [server:0=exit:7:0.5] [worker:1=signal:9:0.5] …`: what a process does after so
many seconds; everybody else serves, or trains for N steps of 50 ms (0: for ever).
"""

import ast
import os
import signal
import socket
import sys
import threading
import time
import traceback

ENV = os.environ
ROLE = {
    "PSERVER": "server",
    "TRAINER": "worker",
    "HETER_TRAINER": "heter",
    "COORDINATOR": "coordinator",
}[ENV["TRAINING_ROLE"]]
SERVERS = ENV["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
WORKERS = ENV["PADDLE_TRAINER_ENDPOINTS"].split(",")
HETERS = ENV.get("PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST", "").split(",")
COORDINATORS = ENV.get("PADDLE_COORDINATOR_ENDPOINTS", "").split(",")
ME = f"{ENV['POD_IP']}:{ENV['PADDLE_PORT']}"
LISTS = {"server": SERVERS, "worker": WORKERS, "heter": HETERS, "coordinator": COORDINATORS}
RANK = LISTS[ROLE].index(ME)
WORDS = dict(word.split("=", 1) for word in sys.argv[1:])


def check():
    assert int(ENV["PADDLE_TRAINERS_NUM"]) == len(WORKERS)
    # The legacy launcher knows one of the two names only.
    assert ENV.get("PADDLE_ROLE", ENV["TRAINING_ROLE"]) == ENV["TRAINING_ROLE"]
    if ROLE == "coordinator":
        assert int(ENV["PADDLE_COORDINATOR_NUM"]) == len(COORDINATORS)
    if ROLE in ("worker", "coordinator"):
        assert int(ENV["PADDLE_TRAINER_ID"]) == RANK
    if "STAGE_ID" in ENV:
        sizes = ast.literal_eval(ENV["PADDLE_STAGE_TRAINERS_NUM"])
        assert len(sizes) == int(ENV["STAGE_NUM"])
        assert sizes[0] == len(WORKERS)
        assert (ENV["STAGE_ID"] == "1") == (ROLE == "worker")
    assert "http_proxy" not in ENV


def misbehave():
    what, *details = WORDS.get(f"{ROLE}:{RANK}", "").split(":")
    if not what:
        return
    time.sleep(float(details[1]) if len(details) > 1 else 0)
    print(f"{ROLE} {RANK} {what}", flush=True)
    if what == "exit":
        os._exit(int(details[0]))
    os.kill(os.getpid(), int(details[0]))


def ask(endpoint, text):
    host, port = endpoint.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as peer:
        peer.sendall(text.encode())
        answer = peer.recv(256).decode()
    if not answer:
        raise ConnectionError(f"{endpoint} closed the connection")
    return answer


def next_stage():
    return [
        part for part in ENV.get("PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", "").split(",") if part
    ]


def serve():
    for endpoint in next_stage():
        wait_for(endpoint)
    listener = socket.create_server((ENV["POD_IP"], int(ENV["PADDLE_PORT"])))
    print(f"{ROLE} {RANK} listens at {ME}", flush=True)
    while True:
        peer, _ = listener.accept()
        with peer:
            answer = f"{peer.recv(256).decode()} > {ROLE} {RANK}"
            following = next_stage()
            peer.sendall((ask(following[0], answer) if following else answer).encode())


def wait_for(endpoint):
    deadline = time.monotonic() + 20
    while True:
        try:
            return ask(endpoint, "hello")
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def train():
    coordinators = [part for part in COORDINATORS if part]
    partners = SERVERS + coordinators + next_stage()
    for endpoint in [*SERVERS, *coordinators, *(part for part in HETERS if part)]:
        wait_for(endpoint)
    steps = int(WORDS.get("steps", "3"))
    step = 0
    while step < steps or not steps:
        answers = [ask(endpoint, f"worker {RANK}") for endpoint in partners]
        print(f"step {step} loss {1 / (step + 1):.4f} {'; '.join(answers)}", flush=True)
        step += 1
        time.sleep(0.05)
    if WORDS.get("grumble") == f"{ROLE}:{RANK}":
        grumble()
    print(f"trained {RANK} of {len(WORKERS)}", flush=True)


def grumble():
    """An error that was taken care of."""
    try:
        raise RuntimeError("no cache, going on without")
    except RuntimeError:
        traceback.print_exc()


check()
if f"{ROLE}:{RANK}" in WORDS:
    threading.Thread(target=misbehave, daemon=True).start()
if WORDS.get("stubborn") == f"{ROLE}:{RANK}":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
train() if ROLE == "worker" else serve()
