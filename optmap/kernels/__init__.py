"""What the code of a mapping computes with: register tiles, orders of elements, and what is free about it."""
