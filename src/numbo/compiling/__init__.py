"""Compiling and caching of kernels, also in the background, and the messages on the first use on a machine."""
