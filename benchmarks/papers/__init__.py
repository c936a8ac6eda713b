"""The figures, theorems and lemmas of the papers, one experiment each."""
