"""What every check needs: statements, machines, footprints, units, and how a document is refused."""
