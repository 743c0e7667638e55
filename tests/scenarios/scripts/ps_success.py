import ps_roles

if ps_roles.ROLE == "PSERVER":
    ps_roles.serve()
ps_roles.wait_for_servers()
for step in range(6):
    ps_roles.push(step)
print("trainer finished")
