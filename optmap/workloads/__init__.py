"""What is computed: statements, tensors, subscripts, how they are written, and common ones by their sizes."""
