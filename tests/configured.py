"""Objects with settings, whichever of these stand in the signature."""

import inspect

from numbo.optimizers import Optimizer


def configured(cls, *args, **given):
    """``cls(*args, **given)`` for an optimizer, sampler or searcher; others go in ``settings``."""
    named = inspect.signature(cls.__init__).parameters
    own = {name: value for name, value in given.items() if name in named}
    rest = {name: value for name, value in given.items() if name not in named}
    kind = (cls if issubclass(cls, Optimizer) else cls._optimizer)._settings_class
    if set(rest) <= set(kind.names()) and rest:
        preset = {"preset": own.pop("preset")} if "preset" in own else {}
        return cls(*args, **own, settings=kind.of(own.pop("settings", None), **preset, **rest))
    return cls(*args, **given)
