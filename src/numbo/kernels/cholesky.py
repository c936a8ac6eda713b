"""Cholesky factors that grow and change, kept together with their inverse.

    K = L L^T        L (n, n) lower triangular
    W = L^-1         the whitening matrix, lower triangular; |W k|^2 = k^T K^-1 k

Keeping ``W`` makes a posterior variance and its gradient two triangular products instead of two sequential
solves. Errors in ``W`` grow with the square root of the condition number of ``K``, as in a solve, not with the
condition number itself, as they would in an explicit ``K^-1``. ``WT`` holds the transpose of ``W``, so that both
products run along rows.

Kernels return a status instead of raising: ``True`` for success, ``False`` if a matrix is not positive definite.
"""

from __future__ import annotations

import math

import numpy as np

from numbo.compiling.jit import jit, subroutine


@subroutine
def accumulate(target, start, stop, c, A, first, last):
    """target[start:stop] += sum of c[k] * A[k, start:stop] over first <= k < last.

    Four rows at a time, with a quarter of the loads and stores of ``target`` and a fixed order of additions. Loops over
    slices, which start at 0, are vectorised. A loop from ``start`` is not, because a negative index would wrap. Callers
    pass a constant 0 as ``np.int64(0)``, since Numba compiles another specialisation for a literal argument.
    """
    t = target[start:stop]
    n = t.shape[0]
    k = first
    while k + 4 <= last:
        c0, c1, c2, c3 = c[k], c[k + 1], c[k + 2], c[k + 3]
        r0, r1, r2, r3 = A[k, start:stop], A[k + 1, start:stop], A[k + 2, start:stop], A[k + 3, start:stop]
        for i in range(n):
            t[i] += (c0 * r0[i] + c1 * r1[i]) + (c2 * r2[i] + c3 * r3[i])
        k += 4
    while k < last:
        c0, r0 = c[k], A[k, start:stop]
        for i in range(n):
            t[i] += c0 * r0[i]
        k += 1


@jit
def lower_product_into(W, n, K, size, out):
    """out[:n, :size] = W K[:n, :size], with W lower triangular and zero above its diagonal.

    Four rows at a time, so that a row of ``K`` is loaded once for all four. The sums are in new arrays, which the
    compiler knows not to overlap.
    """
    t0, t1, t2, t3 = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    i = 0
    while i + 4 <= n:
        w0, w1, w2, w3 = W[i], W[i + 1], W[i + 2], W[i + 3]
        for c in range(size):
            t0[c] = t1[c] = t2[c] = t3[c] = 0.0
        for k in range(0, i + 4, 2):
            a0, a1, a2, a3 = w0[k], w1[k], w2[k], w3[k]
            b0, b1, b2, b3 = w0[k + 1], w1[k + 1], w2[k + 1], w3[k + 1]
            row, following = K[k], K[k + 1]
            for c in range(size):
                x, y = row[c], following[c]
                t0[c] += a0 * x + b0 * y
                t1[c] += a1 * x + b1 * y
                t2[c] += a2 * x + b2 * y
                t3[c] += a3 * x + b3 * y
        for c in range(size):
            out[i, c], out[i + 1, c], out[i + 2, c], out[i + 3, c] = t0[c], t1[c], t2[c], t3[c]
        i += 4
    while i < n:
        for c in range(size):
            t0[c] = 0.0
        accumulate(t0, np.int64(0), size, W[i], K, np.int64(0), i + 1)
        for c in range(size):
            out[i, c] = t0[c]
        i += 1


@jit
def cholesky_into(K, n, L):
    """Write the factor of the leading ``n`` x ``n`` block of the symmetric ``K`` to ``L``, zero above the diagonal.

    The upper triangle of ``K`` is destroyed. Returns whether it succeeded.
    """
    c = np.empty(n)
    for i in range(n):  # K becomes L^T, row by row
        for k in range(i):
            c[k] = -K[k, i]
        row = K[i]
        accumulate(row, i, n, c, K, np.int64(0), i)
        if not (row[i] > 0.0 and row[i] < math.inf):
            return False
        root = math.sqrt(row[i])
        tail = row[i:n]
        for j in range(n - i):
            tail[j] /= root
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = K[j, i]
        for j in range(i + 1, n):
            L[i, j] = 0.0
    return True


@jit
def invert_lower_into(L, n, start, W, WT):
    """Rows ``start..n-1`` of W = L^-1 (and the same columns of ``WT``), given the rows before them."""
    c = np.empty(n)
    for i in range(start, n):
        row = W[i]
        for j in range(n):
            row[j] = 0.0
        for k in range(i):
            c[k] = -L[i, k]
        for k in range(0, i, 4):
            last = min(k + 4, i)
            accumulate(row, np.int64(0), last, c, W, k, last)
        for j in range(i):
            row[j] /= L[i, i]
        row[i] = 1.0 / L[i, i]
        for j in range(i + 1):
            WT[j, i] = row[j]
        for j in range(i):
            WT[i, j] = 0.0


@jit
def inverse_into(W, n, out):
    """Lower triangle of K^-1 = W^T W."""
    c = np.empty(n)
    for i in range(n):
        row = out[i]
        for j in range(i + 1):
            row[j] = 0.0
        for k in range(i, n):
            c[k] = W[k, i]
        accumulate(row, np.int64(0), i + 1, c, W, i, n)


@jit
def whiten_into(WT, n, k, out):
    """out[:n] = W k[:n]."""
    for i in range(n):
        out[i] = 0.0
    for j in range(0, n, 4):  # the rows of WT are zero before their diagonal
        accumulate(out, j, n, k, WT, j, min(j + 4, n))


@jit
def unwhiten_into(W, n, v, out):
    """out[:n] = W^T v[:n]; with v = W k this is K^-1 k."""
    for i in range(n):
        out[i] = 0.0
    for i in range(0, n, 4):  # the rows of W are zero after their diagonal
        last = min(i + 4, n)
        accumulate(out, np.int64(0), last, v, W, i, last)


@jit
def cholesky_append(L, W, WT, n, k, diagonal):
    """Grow the factor of an ``n`` x ``n`` matrix by the row ``k (n,)`` and its ``diagonal`` entry, in place.

    The arrays have room for ``n + 1`` rows. O(n^2). Returns whether it succeeded; on failure nothing is changed.
    """
    v = np.empty(n)
    whiten_into(WT, n, k, v)
    pivot = diagonal
    for i in range(n):
        pivot -= v[i] * v[i]
    if not (pivot > 0.0 and pivot < math.inf):
        return False
    root = math.sqrt(pivot)
    u = np.empty(n)
    unwhiten_into(W, n, v, u)
    for i in range(n):
        L[n, i] = v[i]
        L[i, n] = 0.0
        W[n, i] = -u[i] / root
        W[i, n] = 0.0
        WT[i, n] = W[n, i]
        WT[n, i] = 0.0
    L[n, n] = root
    W[n, n] = 1.0 / root
    WT[n, n] = 1.0 / root
    return True


@subroutine
def cholesky_update(L, n, start, x):
    """Rows ``start..n-1`` of ``L`` become the factor of L L^T + x x^T, in place. ``x`` is destroyed. O(n^2)."""
    for k in range(start, n):
        old = L[k, k]
        new = math.hypot(old, x[k])
        c, s = new / old, x[k] / old
        L[k, k] = new
        for i in range(k + 1, n):
            L[i, k] = (L[i, k] + s * x[i]) / c
            x[i] = c * x[i] - s * L[i, k]
