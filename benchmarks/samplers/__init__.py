"""What searches: numbo's samplers and Optuna's by name, and peers behind the same interface."""
