"""Benchmarks as commands: ``python -m benchmarks --help``."""
