"""`--run_mode rpc`: processes that call each other with `paddle.distributed.rpc`."""

from __future__ import annotations

from pdtriage.launch.plan.cluster import Cluster
from pdtriage.launch.plan.addresses import refuse_taken, split_endpoint


def rpc_variables(cluster: Cluster, local_rank: int) -> dict[str, str]:
    """No more than Paddle's launcher sets: who we are, where we listen and where all meet."""
    return {
        "PADDLE_MASTER_ENDPOINT": rpc_master(cluster),
        "PADDLE_WORKER_ENDPOINT": cluster.own_endpoints[local_rank],
        "PADDLE_TRAINER_ID": str(cluster.first_rank + local_rank),
        "PADDLE_TRAINERS_NUM": str(len(cluster.all_endpoints)),
    }


def rpc_master(cluster: Cluster) -> str:
    """Where they meet: rank 0 listens there beside its own endpoint.

    The static lists give rank 0's endpoint to both; here the next port of its node has to do.
    """
    if cluster.master not in cluster.all_endpoints:
        return cluster.master
    first = [split_endpoint(endpoint) for endpoint in cluster.all_endpoints]
    host = first[0][0]
    return f"{host}:{1 + max(port for other, port in first if other == host)}"


def refuse_taken_master(cluster: Cluster) -> None:
    """The port that nobody wrote down must be free where rank 0 runs."""
    if cluster.node_rank == 0 and cluster.meeting in ("ips", "cloud"):
        refuse_taken((split_endpoint(rpc_master(cluster))[1],))
