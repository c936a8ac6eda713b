"""Explicit arms: regret and time, and the race of S-BPE."""
