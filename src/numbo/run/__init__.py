"""The state of a run: what is known, what may be suggested, space-filling points, random streams and the clock."""
