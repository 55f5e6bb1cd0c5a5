"""Who answers the points of a sweep: this process, worker processes, or a cluster."""
