"""What papers and their published code do, for comparison."""
