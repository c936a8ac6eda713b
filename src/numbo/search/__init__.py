"""The search for the next point: maximisation, arms, global, local and population searches."""
