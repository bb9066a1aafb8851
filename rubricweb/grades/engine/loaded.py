"""The graders that this process has loaded: no job loads one again, and one long unused is closed."""

from __future__ import annotations

from collections import OrderedDict

from grading.graders import Grader, GraderSpec, registry
from rubricweb.core.servers import model_server

KEPT = 4
_graders: OrderedDict[GraderSpec, Grader] = OrderedDict()
"""The one used last comes last."""


def grader(spec: GraderSpec) -> Grader:
    """With its model loaded. Raises what `registry.build` raises."""
    if spec not in _graders:
        close_until(KEPT - 1)  # before the new one needs the memory
        _graders[spec] = registry.build(spec, model_server())
    _graders.move_to_end(spec)
    return _graders[spec]


def close_until(left: int) -> None:
    """Close those that were not used for longest."""
    while len(_graders) > left:
        _, unused = _graders.popitem(last=False)
        unused.close()
