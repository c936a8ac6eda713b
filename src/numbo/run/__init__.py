"""The state of a run: its data, the points that may be suggested, space-filling points, random streams, the clock."""
