"""What is searched: one module for each kind of problem, and `suites`, which knows most of them by name."""
