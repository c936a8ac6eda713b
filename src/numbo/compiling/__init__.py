"""Compiling and caching of kernels."""
