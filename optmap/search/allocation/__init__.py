"""The allocation program and CoSA's: mathematical programs that map onto machines with meshes and prices."""
