"""Where the next point is looked for: the state of a run, candidates, maximisation, arms, local search."""
