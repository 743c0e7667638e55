"""Servers and trainers over plain sockets: this wheel has no parameter server core."""

import os
import socket
import time

ROLE = os.environ["TRAINING_ROLE"]
SERVERS = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")


def serve(on_push=lambda _count: None):
    listener = socket.create_server(("", int(os.environ["PADDLE_PORT"])))
    print(f"server listens at port {os.environ['PADDLE_PORT']}", flush=True)
    pushes = 0
    while True:
        trainer, _ = listener.accept()
        with trainer:
            trainer.recv(64)
            pushes += 1
            on_push(pushes)
            trainer.sendall(b"ok")
            print(f"push {pushes} applied", flush=True)


def push(step, before=lambda _step: None):
    time.sleep(0.3)
    before(step)
    for endpoint in SERVERS:
        host, port = endpoint.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as server:
            server.sendall(b"gradient")
            if not server.recv(8):
                raise ConnectionError(f"server {endpoint} closed the connection")
    print(f"epoch 0 step {step} loss {1.5 / (step + 1):.4f}", flush=True)


def wait_for_servers():
    for endpoint in SERVERS:
        host, port = endpoint.split(":")
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=2).close()
                break
            except OSError:
                print(f"server not ready, wait 1 sec to retry: {endpoint}", flush=True)
                time.sleep(1)
