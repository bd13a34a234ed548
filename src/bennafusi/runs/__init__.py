"""Durability: runs that survive kills, full disks and flipped bits, and resume to the bit."""
