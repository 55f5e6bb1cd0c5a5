"""Workloads, machines, networks and mappings in files: YAML and JSON, read and written."""
