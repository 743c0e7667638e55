import os

import ps_roles


def on_push(count):
    if os.environ["PADDLE_PORT"] == ps_roles.SERVERS[1].split(":")[1] and count == 9:
        raise RuntimeError("embedding table is full: 1048576 of 1048576 rows")


if ps_roles.ROLE == "PSERVER":
    ps_roles.serve(on_push)
ps_roles.wait_for_servers()
for step in range(20):
    ps_roles.push(step)
print("trainer finished")
