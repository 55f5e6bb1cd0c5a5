"""On what: levels with their traits, meshes, prices and cores, and a machine as one workload sees it."""
