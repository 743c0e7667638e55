"""Passes connections to ADDRESS PORT on to TARGET of the same address: who comes is hidden."""

import socket
import sys
import threading


def pump(source, target):
    while chunk := source.recv(65536):
        target.sendall(chunk)
    target.shutdown(socket.SHUT_WR)


address, port, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with socket.create_server((address, port)) as server:
    while True:
        client, _ = server.accept()
        try:
            inner = socket.create_connection((address, target))
        except OSError:
            client.close()
            continue
        for pair in ((client, inner), (inner, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
