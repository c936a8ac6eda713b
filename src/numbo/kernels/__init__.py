"""Compiled code only: arrays and numbers in, arrays out; no classes with behaviour, no I/O, no policy.

Conventions of every kernel:

* arrays are C-contiguous float64 and are trusted (validation happens at the public boundary);
* inputs are stored transposed, ``XT (d, n)``, so that inner loops run over points and vectorise;
* sums over points are written as updates of whole rows, never as reassociated reductions, so that the
  result does not depend on the machine's SIMD width or on the number of threads;
* no kernel starts a thread, and all of them release the GIL.
"""
