"""Where the next point is looked for: maximisation, arms, global and local searches."""
