"""One study from end to end: a network is tuned with everything that a study may have, by Optuna and by Ray Tune."""
