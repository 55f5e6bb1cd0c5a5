"""YAML and JSON in and out of workloads, machines and mappings, strictly; the model library."""
