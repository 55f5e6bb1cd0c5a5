"""Lower bounds on data movement, proved in integers and fractions, with certificates."""
