"""The continuous relaxation: convex programs per level and loop order, and the tree that proves their optimum."""
