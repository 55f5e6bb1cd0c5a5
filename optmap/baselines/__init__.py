"""What schedules of the literature move: the baselines that mappings and bounds are set beside."""
