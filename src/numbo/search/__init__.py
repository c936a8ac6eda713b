"""The search for the next point: maximisation, arms, global and local searches."""
