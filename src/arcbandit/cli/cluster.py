"""The option `--cluster`, shared by the verbs that play epochs."""

from contextlib import AbstractContextManager
from typing import Annotated

from cyclopts import Parameter

CLUSTER_HELP = (
    "Workers that play the epochs: dask:2 or ray:2 starts two on this machine; tcp://host:8786 joins a cluster of Dask "
    "by the address of its scheduler, ray:auto or ray://host:10001 one of Ray. The numbers do not depend on it."
)
Cluster = Annotated[str | None, Parameter(show_default=False, help=CLUSTER_HELP)]


def on_its_workers(cluster: str | None) -> AbstractContextManager[None]:
    """Inside, workers of the cluster play; a name that can be none is refused at once."""
    from arcbandit.simulation.cluster import checked_cluster, on_cluster

    return on_cluster(checked_cluster("--cluster", cluster))
