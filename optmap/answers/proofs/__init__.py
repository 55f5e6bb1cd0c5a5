"""What holds for every schedule, beside an answer, and the proofs that its file carries."""
