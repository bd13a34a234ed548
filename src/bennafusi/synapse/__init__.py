"""The model: Benna-Fusi chains, how they are stepped, and how they wrap an optimiser."""
