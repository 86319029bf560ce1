"""Many runs side by side on a Ray cluster that is there already.

Takes the address of the cluster, what each run needs, and folders that every node must see. Gives a workshop:
commands are started on whichever node has room, and what is lost with a node is started again elsewhere. Ray
only schedules; what is done, and how far, is read from the records as ever.
"""

from everlearn.runs.jobs.cluster.ray_cluster import RayCluster, on_ray

__all__ = ["RayCluster", "on_ray"]
