"""Problems for runs of 1,000 to 10,000 evaluations, in 10 to 100 dimensions; minimum 0 unless it is unknown.

Functions of the kinds that the BBOB testbed distinguishes (Hansen et al. 2009, "Real-Parameter Black-Box Optimization
Benchmarking"): ill-conditioned, ridged, stepped, multimodal with and without a global structure; the flight of a rover
among obstacles (after Wang et al. 2018, "Batched Large-scale Bayesian Optimization in High-dimensional Spaces"); the
weights of the features of a support vector machine; and a controller of a cart with two poles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from benchmarks.problems import functions
from benchmarks.problems.problem import Array, Problem, box, marked, moved

CHECKPOINTS = (500, 1000, 2000, 5000, 10_000)


# -- functions with their minimum 0 at the origin ------------------------------------------------------------------


def powers_of_ten(x: Array, exponent: float) -> Array:
    """Weights (d,) from 1 to ``10 ** exponent``."""
    return 10.0 ** (exponent * np.linspace(0.0, 1.0, len(x)))


def ill_conditioned(x: Array) -> float:
    """An ellipsoid whose axes differ by a factor of 1,000."""
    return float(powers_of_ten(x, 6.0) @ x**2)


def discus(x: Array) -> float:
    """One direction is a million times as steep as all others."""
    return float(1e6 * x[0] ** 2 + np.sum(x[1:] ** 2))


def cigar(x: Array) -> float:
    """One direction is a million times as flat as all others."""
    return float(x[0] ** 2 + 1e6 * np.sum(x[1:] ** 2))


def different_powers(x: Array) -> float:
    return float(np.sqrt(np.sum(np.abs(x) ** np.linspace(2.0, 6.0, len(x)))))


def sharp_ridge(x: Array) -> float:
    return float(x[0] ** 2 + 100.0 * np.sqrt(np.sum(x[1:] ** 2)))


def steps(x: Array) -> float:
    """An ellipsoid made of plateaus, with a slight slope towards the optimum along one coordinate."""
    flat = np.where(np.abs(x) > 0.5, np.floor(x + 0.5), np.floor(0.5 + 10.0 * x) / 10.0)
    return float(0.1 * max(abs(x[0]) / 1e4, powers_of_ten(x, 2.0) @ flat**2))


def schaffer_f7(x: Array) -> float:
    """Many optima, the more the farther from the best one."""
    s = np.sqrt(x[:-1] ** 2 + x[1:] ** 2)
    return float(np.mean(np.sqrt(s) * (1.0 + np.sin(50.0 * s**0.2) ** 2)) ** 2)


def griewank_rosenbrock(x: Array) -> float:
    """A highly multimodal function over the valley of Rosenbrock's, around which the origin lies at (1, ..., 1)."""
    z = x + 1.0
    s = 100.0 * (z[:-1] ** 2 - z[1:]) ** 2 + (z[:-1] - 1.0) ** 2
    return float(10.0 * np.mean(s / 4000.0 - np.cos(s)) + 10.0)


def two_funnels(x: Array) -> float:
    """Lunacek's function: the funnel with the optimum is narrower than the other one, both with many optima."""
    d = len(x)
    other = -2.5
    scale = 1.0 - 1.0 / (2.0 * np.sqrt(d + 20.0) - 8.2)
    center = np.sqrt((other**2 - 1.0) / scale)  # from which the second funnel is as deep
    z = x + 2.5
    near = np.sum((z - 2.5) ** 2)
    far = d + scale * np.sum((z + center) ** 2)
    return float(min(near, far) + 10.0 * np.sum(1.0 - np.cos(2.0 * np.pi * x)))


def weierstrass(x: Array) -> float:
    """Rugged at every scale."""
    k = np.arange(12)
    a = 0.5**k
    b = 3.0**k
    return float(10.0 * (np.mean(np.cos(2.0 * np.pi * b * (x[:, None] + 0.5)) @ a) - a @ np.cos(np.pi * b)) ** 3)


def peaks(d: int, seed: int, count: int = 101) -> Callable[[Array], float]:
    """Gaussian peaks of random shape at random places, without a global structure; the highest is at the origin."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-4.0, 4.0, (count, d))
    centers[0] = 0.0
    heights = np.concatenate([[10.0], np.linspace(1.1, 9.1, count - 1)])
    widths = 10.0 ** rng.permuted(np.tile(np.linspace(-0.5, 0.5, d), (count, 1)), axis=1)

    def value(x: Array) -> float:
        near = np.exp(-0.5 / d * np.sum(widths * (x - centers) ** 2, axis=1))
        return float((10.0 - np.max(heights * near)) ** 2)

    return value


# -- a rover, a support vector machine, two poles ------------------------------------------------------------------

#: Steps at which the path of the rover is looked at.
ALONG = 400


@cache
def _terrain() -> tuple[Array, Array]:
    """Lower corners (o, 2) and sides (o, 2) of the obstacles."""
    rng = np.random.default_rng(60)
    return rng.uniform(0.0, 0.88, (18, 2)), rng.uniform(0.06, 0.14, (18, 2))


def rover(x: Array) -> float:
    """Cost of the path along a cubic spline through 30 points ``x (60,)`` of the unit square, from corner to corner.

    Obstacles cost 20 per length, all else 0.05; missing the start or the end costs 10 times the distance. The lowest
    cost is unknown.
    """
    from scipy.interpolate import CubicSpline

    points = x.reshape(-1, 2)
    path = CubicSpline(np.linspace(0.0, 1.0, len(points)), points)(np.linspace(0.0, 1.0, ALONG))
    low, sides = _terrain()
    inside = np.all((path[:, None] >= low) & (path[:, None] <= low + sides), axis=2).any(axis=1)
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    cost = np.sum(lengths * np.where(inside[1:], 20.0, 0.05))
    ends = np.abs(points[0] - 0.05).sum() + np.abs(points[-1] - 0.95).sum()
    return float(cost + 10.0 * ends)


@cache
def _digits() -> tuple[Array, Array, Array, Array]:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    train, test, of_train, of_test = train_test_split(X / 16.0, y, train_size=200, test_size=300, random_state=0)
    return train, test, of_train, of_test


def weighted_svm(x: Array) -> float:
    """Test error, and a hundredth of the hinge loss, of a support vector machine on digits.

    ``x (66,)`` in [0, 1] holds the weights of the 64 pixels and the logarithms of C and gamma.
    """
    from sklearn.svm import SVC

    train, test, of_train, of_test = _digits()
    model = SVC(C=10.0 ** (4.0 * x[64] - 1.0), gamma=10.0 ** (4.0 * x[65] - 3.0), decision_function_shape="ovr")
    found = model.fit(train * x[:64], of_train).decision_function(test * x[:64])
    right = found[np.arange(len(found)), of_test]
    others = np.where(np.arange(10) == of_test[:, None], -np.inf, found).max(axis=1)
    hinge = np.maximum(0.0, 1.0 - (right - others))
    return float(np.mean(others >= right) + 0.01 * np.mean(hinge))


#: Hidden units of the controller, and steps of the simulation, of a fiftieth of a second each.
HIDDEN = 5
STEPS = 500
LENGTHS = np.array([0.5, 0.05])
MASSES = np.array([0.1, 0.01])
CART = 1.0
GRAVITY = 9.8


def two_poles(x: Array) -> float:
    """How soon a cart drops one of its two poles, or how much it moves, under a network ``x (40,)`` in [-1, 1].

    The equations of motion are those of Wieland (1991), without friction. The value is between 0 and 2.
    """
    into = 4.0 * x[: 7 * HIDDEN].reshape(HIDDEN, 7)
    out = 4.0 * x[7 * HIDDEN :]
    place = 0.0
    speed = 0.0
    moved = 0.0
    angle = np.array([0.07, 0.0])
    turning = np.zeros(2)
    for step in range(2 * STEPS):  # each step is taken in two halves
        if step % 2 == 0:
            seen = np.array([place / 2.4, speed / 2.0, *(angle / 0.6), *(turning / 2.0), 1.0])
            force = 10.0 * np.tanh(out @ np.tanh(into @ seen))
        sine = np.sin(angle)
        cosine = np.cos(angle)
        push = MASSES * LENGTHS * turning**2 * sine - 0.75 * MASSES * cosine * GRAVITY * sine
        weight = MASSES * (1.0 - 0.75 * cosine**2)
        pull = (force + push.sum()) / (CART + weight.sum())
        twist = 0.75 * (GRAVITY * sine - pull * cosine) / LENGTHS
        place = place + 0.01 * speed
        speed = speed + 0.01 * pull
        angle = angle + 0.01 * turning
        turning = turning + 0.01 * twist
        moved += abs(place) / 2.4 + abs(speed) + np.abs(turning).sum()
        if abs(place) > 2.4 or np.abs(angle).max() > 0.63:
            return 2.0 - (step + 1) / (2.0 * STEPS)
    return float(moved / (moved + 2.0 * STEPS))


# -- the suite -----------------------------------------------------------------------------------------------------


_MAKERS: dict[str, Callable[[], Problem]] = {
    "ill-conditioned-20-rotated": lambda: moved(ill_conditioned, 20, -5.0, 5.0, 101, rotate=True),
    "sharp-ridge-20-rotated": lambda: moved(sharp_ridge, 20, -5.0, 5.0, 102, rotate=True),
    "steps-20": lambda: moved(steps, 20, -5.0, 5.0, 103),
    "rastrigin-40": lambda: moved(functions.rastrigin, 40, -5.12, 5.12, 104),
    "rastrigin-20-rotated": lambda: moved(functions.rastrigin, 20, -5.12, 5.12, 105, rotate=True),
    "ackley-40-rotated": lambda: moved(functions.ackley, 40, -20.0, 20.0, 106, rotate=True),
    "levy-40": lambda: moved(lambda x: functions.levy(x + 1), 40, -10.0, 10.0, 107),
    "rosenbrock-40-rotated": lambda: moved(lambda x: functions.rosenbrock(x + 1), 40, -5.0, 5.0, 108, rotate=True),
    "schaffer-f7-20-rotated": lambda: moved(schaffer_f7, 20, -5.0, 5.0, 109, rotate=True),
    "cigar-100": lambda: moved(cigar, 100, -5.0, 5.0, 110),
    "griewank-rosenbrock-10": lambda: moved(griewank_rosenbrock, 10, -5.0, 5.0, 111),
    "weighted-svm-66": lambda: box(weighted_svm, 66, 0.0, 1.0),
    "discus-20-rotated": lambda: moved(discus, 20, -5.0, 5.0, 112, rotate=True),
    "different-powers-40-rotated": lambda: moved(different_powers, 40, -5.0, 5.0, 113, rotate=True),
    "two-funnels-20": lambda: moved(two_funnels, 20, -5.0, 5.0, 114),
    "weierstrass-20-rotated": lambda: moved(weierstrass, 20, -5.0, 5.0, 115, rotate=True),
    "peaks-10": lambda: moved(peaks(10, 116), 10, -5.0, 5.0, 116),
    "rover-60": lambda: box(rover, 60, 0.0, 1.0),
    "two-poles-40": lambda: box(two_poles, 40, -1.0, 1.0),
}
#: Tables and data sets are read when a problem is made.
PROBLEMS: dict[str, Callable[[], Problem]] = {n: partial(marked, make, CHECKPOINTS) for n, make in _MAKERS.items()}
#: Those that were no help in choosing settings.
ASIDE = (
    "discus-20-rotated",
    "different-powers-40-rotated",
    "two-funnels-20",
    "weierstrass-20-rotated",
    "peaks-10",
    "rover-60",
    "two-poles-40",
)
