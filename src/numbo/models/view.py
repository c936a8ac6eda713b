"""A snapshot of a model for inspection: plain data that later observations do not change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from numbo._types import Array, ObservationIndices
from numbo.kernels.acquisition import UCB, Acquisition, Posterior, Term, acquisition_values
from numbo.kernels.basis import features
from numbo.kernels.tables import table_sums
from numbo.models.constraints import Constraints
from numbo.models.dictionaries import unrepresented
from numbo.models.moments import Prediction, moments
from numbo.models.sparse_gp import SparseGP
from numbo.models.surrogate import Surrogate
from numbo.models.transforms import OutputTransform
from numbo.models.widening import widening


@dataclass(frozen=True, eq=False)
class ModelView:
    """A model of all observations, with nothing pending. Larger values are better.

    Attributes:
        posterior: the model used for predictions, of values transformed by ``transform``.
        transform: maps objective values to these values and back.
        searched: the model of the next suggestion; its values may be transformed in another way.
        acquisition: the acquisition function of the next suggestion, under ``searched``.
        members: (m,) indices of the observations in the model, failures not counted.
        lengthscales: (d,) in the unit cube.
        noise_std: standard deviation of the noise according to the model, in units of the objective.
        noise_is_given: whether the noise was set by the user.
        calibration: the model that estimates how far standard deviations are too small; None if there is none.
        unfitted: a model with the same settings and no data; None if it could not learn from more observations.
        sparse: the sparse model of ``posterior``; None for an exact one, which is conditioned on ``members``.
        beta: multiplier of the standard deviation, None if it is not used.
        effective_dimension: effective dimension of a sparse model.
        batch_sizes: sizes of the completed batches.
        buffer_size: number of observations in a chosen subset; None if there is no limit (yet).
        constraints: the models of the constraints; empty without constraints.
        feasible: whether an observation meets all of them; as long as none does, the objective does not count.
        costs: the terms of costs in the acquisition function (`numbo.models.costs`).
        prior: (d, g) what is believed of good values, as it counts in it (`Situation.prior`); None for nothing.
        studies: the expected weights of what earlier studies predict, by their names; 0 while they have no influence.
        others: with several objectives, the views of the others.
        improving: with several objectives, the function (c,) that the next suggestion maximises, in place of
            ``acquisition``.
    """

    posterior: Posterior
    transform: OutputTransform
    searched: Posterior
    acquisition: Acquisition
    members: ObservationIndices
    lengthscales: Array
    noise_std: float
    noise_is_given: bool = False
    calibration: Surrogate | None = None
    unfitted: Surrogate | None = None
    sparse: SparseGP | None = None
    beta: float | None = None
    effective_dimension: float | None = None
    batch_sizes: tuple[int, ...] = ()
    buffer_size: int | None = None
    constraints: Constraints = field(default_factory=Constraints)
    feasible: bool = True
    costs: tuple[Term, ...] = ()
    prior: Array | None = None
    studies: dict[str, float] = field(default_factory=dict)
    others: tuple[ModelView, ...] = ()
    improving: Callable[[Array], Array] | None = None

    @cached_property
    def widening(self) -> float:
        """Factor by which standard deviations have to grow for predictions anywhere to be calibrated."""
        return 1.0 if self.calibration is None else widening(self.calibration.gp)

    @property
    def claimed_noise(self) -> float:
        """Variance of the noise, in units of the variance of the values."""
        ratio = self.noise_std / self.transform.slope(0.0)
        return ratio * ratio  # `**` would raise if this is infinite

    def mean_sd(self, X: Array) -> Prediction:
        """Mean and standard deviation (c,) of the objective at ``X (c, d)``."""
        latent = moments(self.posterior, X)
        return self.transform.backward(latent.mean, latent.std)

    def acquire(self, X: Array) -> Array:
        """The acquisition function (c,) at ``X (c, d)``."""
        if self.improving is not None:
            return self.improving(X)
        values = self.constraints.log_probability(X)
        for term in self.costs:
            values += acquisition_values(*term, X)
        if self.prior is not None:
            values += table_sums(self.prior, np.ascontiguousarray(X))
        if self.feasible or not len(self.constraints):
            values += acquisition_values(self.searched, self.acquisition, X)
        return values

    @property
    def acquisition_name(self) -> str:
        """What `acquire` returns, in words."""
        if self.improving is not None:
            return "log hypervolume improvement"
        per = (" per cost" if self.costs else "") + (" + log prior" if self.prior is not None else "")
        if len(self.constraints) and not self.feasible:
            return f"log feasibility{per}"
        name = "confidence bound" if self.acquisition.kind == UCB else f"log improvement{per}"
        return f"{name} + log feasibility" if len(self.constraints) else name

    def predicted_by_studies(self, X: Array) -> dict[str, Array]:
        """What each earlier study predicts (c,) at ``X (c, d)``, in normal scores; empty while none counts."""
        basis = self.searched.basis
        return {} if basis is None else dict(zip(self.studies, (features(basis, X) + basis.shifts).T, strict=True))

    def at_observations(self, X: Array) -> Prediction:
        """Mean (n,) at the observations ``X (n, d)``, and the unexplained standard deviation (n,) there.

        The latter is 0 if the model is conditioned on the value. In a sparse model it is that of the part which the
        dictionary does not represent (`numbo.inspection.recommendation`).
        """
        found = self.mean_sd(X)
        if self.sparse is None:
            found.std[self.members] = 0.0
            return found
        lifted = self.posterior.lifted(X)
        missing = unrepresented(self.sparse.covariance, lifted, self.sparse.embed(lifted))
        return Prediction(found.mean, np.sqrt(missing) * self.transform.scale)
