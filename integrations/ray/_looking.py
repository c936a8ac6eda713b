"""The part of a searcher that tells what it has learned, in the terms of the config."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from numbo._descriptions import as_in
from numbo._types import Array
from numbo.optimizers import Explanation, Optimizer, Remaining, Snapshot
from numbo.ray._stored import StoredSearch


@as_in(Optimizer)
class InspectedSearch(StoredSearch):
    """A searcher whose model can be looked at."""

    @overload
    def predict(self, config: Mapping[str, Any]) -> tuple[float, float]: ...
    @overload
    def predict(self, config: Sequence[Mapping[str, Any]]) -> tuple[Array, Array]: ...
    def predict(self, config: Any) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the metric, without its noise, after all completed trials.

        With k metrics, arrays (k,) for one config, and (c, k) for a sequence.

        Args:
            config: one config, nested or flat, with or without constants; or a sequence of ``c`` for arrays (c,).

        Raises:
            ValueError: before the first success, or for configs outside the search space.
        """
        return self._ready()[1].predict(self._asked_about(config))

    def predict_feasible(self, config: Any) -> Any:
        """The probability that all constraints hold for one config, or an array (c,) for a sequence of ``c``.

        Raises:
            ValueError: without constraints, before the first success, or for configs outside the search space.
        """
        return self._ready()[1].predict_feasible(self._asked_about(config))

    def _asked_about(self, config: Any) -> Any:
        """The parameters of one config, or of each of a sequence."""
        space, _ = self._ready()
        return space.to_params(config) if isinstance(config, Mapping) else [space.to_params(c) for c in config]

    def predict_end(self, reports: Mapping[int, float]) -> tuple[float, float]:
        """Predicted final value of a trial with these reports by iteration, and its standard deviation.

        Raises:
            ValueError: if ``reports`` have no number, no trial has completed, or the searcher uses no curves, as with
                several metrics.
        """
        if self._several:
            raise ValueError(f"predict_end is of one metric, and this {type(self).__name__} has {self._metrics}.")
        return self._ready()[1].predict_end(reports)

    def best_predicted(
        self, *, anywhere: bool = False, tolerance: Mapping[str, float] | None = None
    ) -> tuple[dict[str, Any], float] | None:
        """The config, without constants, of the trial with the best expected value, and that value.

        None before the first success, and if no trial keeps all bounds. For noisy metrics a better answer than Tune's
        best result, which is the luckiest of all trials. It may be a trial that was stopped early; the value is then
        where the trial would have ended, as predicted from its reports.

        Names in ``tolerance`` are those of paths, such as ``"a/b"``.

        Raises:
            ValueError: if there are several metrics, of which `front` has the trade-offs.
        """
        space, opt = self._ready()
        if isinstance(tolerance, Mapping):
            steps = {name: space.parameters[name].step or 1.0 for name in tolerance if name in space.parameters}
            tolerance = {name: value / steps.get(name, 1.0) for name, value in tolerance.items()}
        best = opt.best_predicted(anywhere=anywhere, tolerance=tolerance)
        return None if best is None else (space.to_config(best[0]), best[1])

    def front(self) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
        """The configs, without constants, that no other trial dominates, and the values of the metrics in their order.

        These are the trade-offs between several metrics, among trials that meet all constraints, the best of the first
        metric first. If a metric is noisy, its values are the model's means.
        """
        space, opt = self._ready()
        return [(space.to_config(params), values) for params, values in opt.front()]

    def hypervolumes(self, reference: Sequence[float]) -> Array:
        """The volume (n,) that the front dominates after each of the ``n`` trials, up to a ``reference`` point."""
        return self._ready()[1].hypervolumes(reference)

    def remaining(self, trials: int, *, least: float = 0.0, reference: Sequence[float] | None = None) -> Remaining:
        """What so many more trials would bring, in the units of the metric."""
        return self._ready()[1].remaining(trials, least=least, reference=reference)

    def worthwhile(self, worth: float, *, reference: Sequence[float] | None = None) -> Remaining | None:
        """For how many more trials it pays to go on, by the metric."""
        return self._ready()[1].worthwhile(worth, reference=reference)

    def explain(self, *, objective: int = 0) -> Explanation:
        """A description of the model, and the time of the last suggestion."""
        return self._ready()[1].explain(objective)

    def inspected(self) -> tuple[Snapshot, Callable[[str, Any], Any]]:
        """For `numbo.plot`: a snapshot of the optimizer, and a function to show a value of a parameter."""
        space, opt = self._ready()
        return opt.snapshot(), lambda name, searched: space.parameters[name].to_value(searched)

    @property
    def optimizer(self) -> Optimizer | None:
        """The optimizer behind the searcher; None before space, metric and mode are known."""
        return self._opt
