"""What tests and ``make soak`` put a study through: killed workers, damaged files, interrupts, long runs."""
