"""The learners, as pure functions of their state; each knows nothing of time or of disks."""
