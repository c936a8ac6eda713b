"""Samplers against each other, and numbo against earlier versions of itself: quality and time."""
