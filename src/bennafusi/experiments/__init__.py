"""Each result once: its settings, its analysis and its figures."""
