"""Online-offline protocol: one pass over each task against several passes.

The protocol compares two finished runs; `everlearn evaluate online-offline RECORD` trains the second one.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from everlearn.errors import BadInput
from everlearn.evaluation.formatting import format_amount, format_duration, format_score
from everlearn.evaluation.protocols import base
from everlearn.plotting import FigurePart, FigureStyle
from everlearn.plotting.axes import FigureBase
from everlearn.streams import Stream

Summary = Mapping[str, Any]
"""The summary of a run, as `everlearn show --json` prints it."""

ROWS = ("record", "average_accuracy", "forgetting", "seconds", "images")
PANELS = {
    "accuracy": ("average_accuracy", format_score),
    "forgetting": ("forgetting", format_score),
    "time": ("seconds", format_duration),
    "images": ("images", format_amount),
}


class OnlineOfflineResult(base.Result):
    """The summaries of two runs that differ in the number of epochs only."""

    online: Summary
    offline: Summary

    def table(self) -> base.Table:
        rows = [(key.replace("_", " "), self.online[key], self.offline[key]) for key in ROWS]
        return base.Table(("measure", "online", "offline"), rows)


class OnlineOffline(base.Protocol[OnlineOfflineResult]):
    """Accuracy and cost of one epoch per task against several; trains the run again with the other."""

    epochs: Annotated[int, Field(ge=2, le=1_000_000)] = 5
    """Epochs per task of the offline run."""

    def _run(self, learner: Any, stream: Stream, n_tasks: int, context: base.Context) -> OnlineOfflineResult:
        raise BadInput(f"{self.name} compares two runs; use `everlearn evaluate {self.name} RECORD`")


def _draw(figure: FigureBase, groups: base.Groups[OnlineOfflineResult], style: FigureStyle) -> None:
    """One epoch per task (online) against several (offline)."""
    panels = {title: base.Pair(partial(_both, key), form) for title, (key, form) in PANELS.items()}
    base.draw_pairs(figure, groups, style, panels, "full: online, pale: offline")


def _both(key: str, result: OnlineOfflineResult) -> tuple[float | None, float | None]:
    return result.online.get(key), result.offline.get(key)


OnlineOffline.figures = {"online-offline": FigurePart(base.pairs_height, _draw)}
