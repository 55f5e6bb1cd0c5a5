"""What methods on machines with meshes and prices share: what fits, paddings, wires, random nests.

Such a machine is seen as a `Fabric`, and a mapping is a `Nest`.
"""
