"""Solutions of machines with meshes and prices."""
