"""What is said beside a mapping: documents, recounts, proofs, comparisons, and curves over capacity."""
