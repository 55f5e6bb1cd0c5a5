"""What a sweep keeps: rows, part files, the manifest, and who may write."""
