"""Settings of the algorithms: frozen values that check themselves.

An algorithm has everyday settings in its signature and all of them in a dataclass of its own, which is also what a
saved state keeps. What is None is decided where the space is known.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from numbo import _checks
from numbo._descriptions import completed
from numbo._types import AcquisitionName, AvoidRepeats, Beta, Kernel, LearnFailures
from numbo.models.gp import FAMILIES

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")

#: Points of the initial design, unless it is set.
INITIAL = 10
ACQUISITIONS = ("ucb", "log_ei", "alternate")


def checked(default: Any, check: Callable[..., Any], *accepted: Any, **options: Any) -> Any:
    """A field whose value passes ``check(name, value, *accepted, **options)``; None passes where it is the default."""

    def of(name: str, value: Any) -> Any:
        return value if value is None and default is None else check(name, value, *accepted, **options)

    return field(default=default, metadata={"check": of})


def _fields(cls: type) -> Iterable[tuple[str, Field[Any]]]:
    return vars(cls).get("__dataclass_fields__", {}).items()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that all algorithms have.

    Args:
        n_initial: number of points of the space-filling initial design before the model takes over; by default 10.
        avoid_repeats: whether to avoid points that were observed or are pending while others are left. With ``"auto"``,
            the default, observed points may be measured again where values are noisy.
        learn_failures: whether failures depend on the parameters: ``True`` weights points by their probability of
            success, ``False`` only never repeats a point that failed, ``"auto"`` lets the data decide between the two
            (`numbo.models.Feasibility`).

    Raises:
        ValueError: for an unsupported value.
        TypeError: for an unknown setting.
    """

    n_initial: int | None = checked(None, _checks.integer, 1)
    avoid_repeats: AvoidRepeats | None = checked(None, _checks.one_of, _checks.AUTO)
    learn_failures: LearnFailures = checked("auto", _checks.one_of, _checks.AUTO)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        usual = {name: one.init for base in reversed(cls.__mro__[1:]) for name, one in _fields(base)}
        own = {name: getattr(vars(cls).get(name), "init", True) for name in inspect.get_annotations(cls)}
        cls.__doc__ = completed(cls, [name for name, init in (usual | own).items() if init])

    def __new__(cls, **given: Any) -> Self:
        _checks.known_settings(cls.__name__, given, cls.names())
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for one in fields(self):
            if check := one.metadata.get("check"):
                object.__setattr__(self, one.name, check(one.name, getattr(self, one.name)))

    @classmethod
    def names(cls) -> list[str]:
        """Names of the settings that can be given."""
        return [one.name for one in fields(cls) if one.init]

    @classmethod
    def of(cls, settings: Self | None, **given: Any) -> Self:
        """These ``settings``, by default the usual ones, with those ``given``; None says nothing."""
        if settings is not None and type(settings) is not cls:
            raise ValueError(f"settings must be a numbo.{cls.__name__}, got {settings!r}.")
        base = cls() if settings is None else settings
        return replace(base, **{name: value for name, value in given.items() if value is not None})

    def differing(self) -> dict[str, Any]:
        """The settings that do not have their usual values."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        return {one.name: values[one.name] for one in fields(self) if one.init and values[one.name] != one.default}

    def state_dict(self) -> dict[str, Any]:
        """The settings as plain data, with which the class can be called."""
        return {name: getattr(self, name) for name in self.names()}

    @property
    def dimensions(self) -> int:
        """Least number of coordinates of a space that the settings fit."""
        return 1

    def initial(self, d: int) -> int:
        """Number of points of the initial design in ``d`` dimensions."""
        return INITIAL if self.n_initial is None else self.n_initial

    def avoiding(self, explicit: bool) -> bool | str:
        """Whether to avoid repeats of ``explicit`` arms, or of the points of a space."""
        return "auto" if self.avoid_repeats is None else self.avoid_repeats


@dataclass(frozen=True, kw_only=True)
class GPSettings(Settings):
    """Settings of algorithms with an exact Gaussian process.

    Args:
        use_curves: whether the final value of a stopped trial, and its uncertainty, are predicted from its curve.
            Otherwise, and with several objectives, its last value counts as its final one.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        acquisition: ``"ucb"`` (mean + beta * standard deviation), ``"log_ei"`` (log expected improvement), or
            ``"alternate"``: the global model alternates between the two, local ones take log EI. EI exploits where the
            model is confident; UCB lets the search escape when EI stalls. Of several objectives it is always the
            expected hypervolume improvement.
        beta: the multiplier of UCB, where that is the acquisition function; by default 2, or ``"log"`` for
            ``sqrt(0.2 d log(2 t))`` (Kandasamy et al. 2015, section 4).
        trend: whether the covariance has a linear and quadratic part.
        additive: whether the covariance has an additive part, a sum of functions of one coordinate each.
        winsorize: whether outliers on the bad side are clipped if the model then predicts better.
        warp: whether the global model sees the logarithm of the gap to the best value if it then predicts better.
    """

    use_curves: bool = checked(True, _checks.flag)
    kernel: Kernel = checked("matern52", _checks.one_of, FAMILIES)
    acquisition: AcquisitionName = checked("ucb", _checks.one_of, ACQUISITIONS)
    beta: Beta = checked(2.0, _checks.number_or, ("log",))
    trend: bool = checked(False, _checks.flag)
    additive: bool = checked(False, _checks.flag)
    winsorize: bool = checked(False, _checks.flag)
    warp: bool = checked(False, _checks.flag)
    #: Settings of GSSBO alone.
    all_data: bool = field(default=False, init=False)
    avoid_ties: bool = field(default=False, init=False)


def as_call(
    of: object, given: Mapping[str, Any], settings: Settings | None = None, usual: Mapping[str, Any] | None = None
) -> str:
    """The call of a constructor that makes ``of`` again, with what differs from its defaults.

    Args:
        given: its arguments by name, without settings.
        settings: the settings that it was given, or has put together. Those that are arguments go by their names.
        usual: values of settings that the constructor itself takes by default.
    """
    known = inspect.signature(type(of)).parameters
    arguments = {name: value for name, value in given.items() if name in known and value != known[name].default}
    named = {} if settings is None else settings.differing()
    named = {name: value for name, value in named.items() if not (usual and name in usual and value == usual[name])}
    arguments |= {name: value for name, value in named.items() if name in known}
    others = {name: value for name, value in named.items() if name not in known}
    if others:
        arguments["settings"] = type(settings)(**others)  # type: ignore[misc]
    return _call(of, {name: arguments[name] for name in known if name in arguments})


def _call(of: object, arguments: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{name}={_source(value) or '...'}" for name, value in arguments.items())
    return f"{type(of).__name__}({listed})"


def _source(value: Any) -> str | None:
    """Source code of a ``value``, None if its text is none."""
    if isinstance(value, Settings):
        return _call(value, value.differing())
    if isinstance(value, np.generic | np.ndarray):
        return _source(value.tolist())
    if type(value) in (list, tuple):
        found = [_source(child) for child in value]
        listed = ", ".join(map(str, found)) + "," * (type(value) is tuple and len(found) == 1)
        return None if None in found else f"[{listed}]" if type(value) is list else f"({listed})"
    if type(value) is dict:
        pairs = [(_source(key), _source(child)) for key, child in value.items()]
        return None if any(None in pair for pair in pairs) else "{" + ", ".join(f"{a}: {b}" for a, b in pairs) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return None if "<" in repr(value) and not isinstance(value, str) else repr(value)


def names_checked(settings: type[Settings]) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Decorate a constructor that takes all ``settings`` in an argument of this name, and everyday ones by themselves.

    For an argument that it does not have, Python would name the class that defines the constructor. The error here
    names the class that was called, and what was probably meant, or how to pass a setting that is no argument.
    """

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        known = [name for name in inspect.signature(init).parameters if name != "self"]
        within = [name for name in settings.names() if name not in known and _checks.ELSEWHERE.get(name) not in known]

        @functools.wraps(init)
        def checked(*args: P.args, **kwargs: P.kwargs) -> None:
            cls = type(args[0]).__name__
            _checks.known_settings(cls, kwargs, known, within)
            inner = [name for name in kwargs if name in within]
            if inner:
                listed = ", ".join(f"{name}={kwargs[name]!r}" for name in inner)
                passed = f"settings={settings.__name__}({listed})"
                raise TypeError(f"{cls} takes {', '.join(inner)} in its settings: pass {passed}.")
            init(*args, **kwargs)

        return checked

    return decorate


def handed_on(settings: type[Settings]) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Decorate a constructor that is a signature only: the constructor of the next class is called in its place.

    What that one takes is handed on, and what else is given are settings (`Settings.of`). Names are checked by
    `names_checked`.
    """

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        @names_checked(settings)
        @functools.wraps(init)
        def construct(*args: P.args, **kwargs: P.kwargs) -> None:
            init(*args, **kwargs)  # an error in the arguments comes from here
            self: Any = args[0]
            owner = next(cls for cls in type(self).__mro__ if vars(cls).get("__init__") is made)
            above = super(owner, self).__init__  # type: ignore[arg-type]
            _, *given = inspect.signature(init).bind(*args, **kwargs).arguments.items()
            names = inspect.signature(above).parameters
            further = {name: value for name, value in given if name not in names}
            kind = getattr(self, "_optimizer", type(self)).settings_class
            merged = kind.of(dict(given).get("settings"), **further)
            above(**({name: value for name, value in given if name in names} | {"settings": merged}))

        made: Callable[P, None] = construct
        return made

    return decorate
