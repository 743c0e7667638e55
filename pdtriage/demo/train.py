"""Four ranks that train nothing, exchange gradients in a ring, and read their samples in a thread.

The samples of one rank lie on a disk that fails after a while: its reader dies of a real I/O error
while its main thread waits for a batch that never comes. The next rank in the ring times out, and
the others lose their connections. What they say then is what Gloo and Paddle's DataLoader say.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
import time

STEPS = 40
STEP_SECONDS = 0.12
TIMEOUT = 3.0
FAILING_RANK = 2
GOOD_SHARDS = 12


class Reader(threading.Thread):
    """One batch a request; an exception ends the thread, not the process."""

    def __init__(self, folder: str) -> None:
        super().__init__(name="Thread-1 (_thread_loop)", daemon=True)
        self.folder = folder
        self.wanted = threading.Semaphore(0)
        self.ready = threading.Semaphore(0)
        self.batch = b""

    def run(self) -> None:
        try:
            for number in range(STEPS):
                self.wanted.acquire()
                self.batch = read_sample(os.path.join(self.folder, f"part-{number:05d}"))
                self.ready.release()
        except Exception:
            print("ERROR:root:DataLoader reader thread raised an exception!", file=sys.stderr)
            raise

    def next_batch(self) -> bytes:
        self.wanted.release()
        self.ready.acquire()
        return self.batch


class Ring:
    """Every rank sends to the next one and receives from the one before."""

    def __init__(self, rank: int, endpoints: list[str]) -> None:
        self.rank = rank
        self.before = (rank - 1) % len(endpoints)
        host, port = endpoints[rank].rsplit(":", 1)
        with socket.create_server((host, int(port))) as server:
            self.to_next = _connect(endpoints[(rank + 1) % len(endpoints)])
            self.from_before, self.peer = server.accept()
        self.from_before.settimeout(TIMEOUT)

    def all_reduce(self, value: float) -> float:
        total = value
        for _ in range(3):
            self.to_next.sendall(struct.pack("!d", value))
            value = struct.unpack("!d", self._receive())[0]
            total += value
        return total / 4

    def _receive(self) -> bytes:
        where = "/paddle/third_party/gloo/gloo/transport/tcp/pair.cc"
        peer = f"[{self.peer[0]}]:{self.peer[1]}"
        try:
            received = self.from_before.recv(8, socket.MSG_WAITALL)
        except TimeoutError:
            raise RuntimeError(
                f"[{where}:584] TIMEOUT self_rank = {self.rank} pair_rank = {self.before} "
                f"peer_str = {peer}"
            ) from None
        if len(received) < 8:
            raise RuntimeError(
                f"[{where}:598] Connection closed by peer [{self.peer[0]}]:{self.peer[1]}"
            )
        return received


def main() -> None:
    rank = int(os.environ["PADDLE_TRAINER_ID"])
    ring = Ring(rank, os.environ["PADDLE_TRAINER_ENDPOINTS"].split(","))
    reader = Reader(make_samples(rank))
    reader.start()
    for step in range(STEPS):
        batch = reader.next_batch()
        loss = ring.all_reduce(1.0 / (step + 1 + len(batch) / 1024))
        time.sleep(STEP_SECONDS)
        print(f"epoch: 0, step: {step}, loss: {loss:.5f}", flush=True)


def make_samples(rank: int) -> str:
    """Makes a folder of small files; on one rank some cannot be read.

    The memory of a process at address 0 is a file that opens, and whose first byte is a real
    input/output error.
    """
    folder = os.path.join(sys.argv[1], f"shards-{rank}")
    os.makedirs(folder, exist_ok=True)
    for number in range(STEPS):
        path = os.path.join(folder, f"part-{number:05d}")
        if rank == FAILING_RANK and number >= GOOD_SHARDS and os.path.exists("/proc/self/mem"):
            os.symlink("/proc/self/mem", path)
        else:
            with open(path, "wb") as file:
                file.write(bytes(512))
    return folder


def read_sample(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read(512)


def _connect(endpoint: str) -> socket.socket:
    host, port = endpoint.rsplit(":", 1)
    deadline = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection((host, int(port)))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


if __name__ == "__main__":
    main()
