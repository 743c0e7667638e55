"""What will be started: cluster, devices, and the environment of every child."""
