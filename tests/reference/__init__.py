"""Slow, plain float64 versions of the model, written from the paper and nothing else."""
