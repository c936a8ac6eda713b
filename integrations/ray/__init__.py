"""numbo's search algorithms for Ray Tune: ``tune.TuneConfig(search_alg=GSSBOSearch())``."""

import logging

try:
    from ray import tune  # noqa: F401
except ImportError as error:
    raise ImportError("numbo.ray needs Ray Tune, which is not installed: pip install 'numbo[ray]'.") from error

from numbo.ray._algorithms import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch
from numbo.ray._scheduler import CurveScheduler
from numbo.ray._stopping import StopWhenDone
from numbo.spaces import Table
from numbo.warming.first_use import announce_compilation

announce_compilation(logging.getLogger("ray.tune.search.numbo").info)

__all__ = ["BBKBSearch", "BKBSearch", "CurveScheduler", "GSSBOSearch", "SBPESearch", "StopWhenDone", "Table"]
