import os

import ps_roles

if ps_roles.ROLE == "PSERVER":
    ps_roles.serve()
trainer = int(os.environ["PADDLE_TRAINER_ID"])


def before(step):
    if trainer == 1 and step == 4:
        raise ValueError("slot 'user_id' has 3 values, expected 1")


ps_roles.wait_for_servers()
for step in range(8):
    ps_roles.push(step, before)
print("trainer finished")
