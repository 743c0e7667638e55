import os
import signal

import ps_roles


def on_push(count):
    if os.environ["PADDLE_PORT"] == ps_roles.SERVERS[0].split(":")[1] and count == 7:
        os.kill(os.getpid(), signal.SIGKILL)


if ps_roles.ROLE == "PSERVER":
    ps_roles.serve(on_push)
ps_roles.wait_for_servers()
for step in range(20):
    ps_roles.push(step)
print("trainer finished")
