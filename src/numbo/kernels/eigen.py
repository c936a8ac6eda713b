"""Eigenvalues and eigenvectors of small symmetric matrices."""

from __future__ import annotations

import math

import numpy as np

from numbo.compiling.jit import jit

#: More than any matrix needs: after the first few sweeps, each squares what is left beside the diagonal.
SWEEPS = 40


@jit
def eigen(A):
    """Eigenvalues (n,) of the symmetric ``A (n, n)``, ascending, and its eigenvectors (n, n) by column.

    Cyclic Jacobi rotations (Golub & Van Loan 2013, section 8.5), until all that is beside the diagonal is negligible
    against both entries of the diagonal. Small eigenvalues of a positive definite matrix keep relative accuracy.
    """
    n = A.shape[0]
    M, V = A.copy(), np.zeros((n, n))
    for i in range(n):
        V[i, i] = 1.0
    rotations, sweep = 1, 0
    while rotations > 0 and sweep < SWEEPS:
        rotations, sweep = 0, sweep + 1
        for p in range(n - 1):
            for q in range(p + 1, n):
                a, first, second = M[p, q], abs(M[p, p]), abs(M[q, q])
                if first + abs(a) == first and second + abs(a) == second:
                    continue
                rotations += 1
                ratio = (M[q, q] - M[p, p]) / (2.0 * a)
                t = math.copysign(1.0, ratio) / (abs(ratio) + math.hypot(ratio, 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                mp, mq, vp, vq = M[p], M[q], V[p], V[q]
                low, high = mp[p] - t * a, mq[q] + t * a
                for k in range(n):
                    x, y = mp[k], mq[k]
                    mp[k], mq[k] = c * x - s * y, s * x + c * y
                    x, y = vp[k], vq[k]
                    vp[k], vq[k] = c * x - s * y, s * x + c * y
                for k in range(n):
                    M[k, p], M[k, q] = mp[k], mq[k]
                mp[p], mq[q], mp[q], mq[p] = low, high, 0.0, 0.0
    values, axes = np.empty(n), np.empty((n, n))
    for i in range(n):
        rank = 0
        for k in range(n):
            if M[k, k] < M[i, i] or (M[k, k] == M[i, i] and k < i):
                rank += 1
        values[rank] = M[i, i]
        for k in range(n):
            axes[k, rank] = V[i, k]
    return values, axes
