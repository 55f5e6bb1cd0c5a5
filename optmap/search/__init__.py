"""Search: dataflow classes, programs and solvers combined into the best integer mapping."""
