"""Trade the loss of a network for handwritten digits against its size, by the core.

python examples/network_size.py [--trials 60] [--seed 0]
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

from numbo import GSSBO, Float, Int
from sklearn.exceptions import ConvergenceWarning

from small_network import train

SPACE = {
    "layers": Int(1, 2),
    "units_0": Int(4, 128, log=True),
    "units_1": Int(4, 128, log=True, when={"layers": 2}),
    "alpha": Float(1e-6, 1.0, log=True),
    "rate": Float(1e-4, 1e-1, log=True),
}


def objectives(params: dict[str, Any]) -> tuple[float, float]:
    """The validation loss, and the logarithm of the number of weights."""
    units = [params[f"units_{i}"] for i in range(params["layers"])]
    loss, weights = train(units, params["alpha"], params["rate"])
    return loss, math.log10(weights)  # half the size is worth as much anywhere


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune loss and size of a network.")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    directions = ("minimize", "minimize")
    opt = GSSBO(SPACE, directions=directions, seed=arguments.seed)
    for _ in range(arguments.trials):
        params = opt.ask()
        opt.tell(params, objectives(params))
    front = opt.front()
    print(f"No network is better in both than these {len(front)} of {opt.n_told}:")
    for params, (loss, size) in front:
        units = [params[f"units_{i}"] for i in range(params["layers"])]
        layers = " and ".join(map(str, units))
        print(f"  loss {loss:.3f} with {10**size:.0f} weights, of {layers} units")
    volumes = opt.hypervolumes((1.0, 5.0))  # losses up to 1, and up to 100,000 weights
    half = volumes[len(volumes) // 2 - 1]
    print(f"Volume {half:.3f} after half of the trials, {volumes[-1]:.3f} after all")


if __name__ == "__main__":
    main()
