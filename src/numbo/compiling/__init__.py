"""How kernels are compiled and cached, in the background if need be, and what a first use on a machine tells."""
