"""The tasks, as pure functions; ``gym`` is the only adapter to Gymnasium."""
