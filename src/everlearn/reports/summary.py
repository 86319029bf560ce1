"""A record in a dozen facts."""

import math
from typing import Any

from everlearn.reports.findings import Findings
from everlearn.runs import Record

MEASURES = (
    "average_accuracy",
    "average_incremental_accuracy",
    "forgetting",
    "seconds",
    "images",
    "flops",
    "weights_bytes",
    "memory_bytes",
)


def summary(record: Record) -> dict[str, Any]:
    """What a run did and how it went, as plain JSON values; None for what is not known yet.

    Seconds are those of the tasks that count: time lost to a crash is not in them.
    """
    found = Findings.of(record)
    measures = found.measures()
    return {
        "record": str(record.folder),
        "learner": record.spec["learner"]["name"],
        "stream": found.started.get("stream"),
        "fingerprint": found.started.get("fingerprint"),
        "seed": record.spec["seed"],
        "tasks": found.n_tasks,
        "tasks_planned": found.started.get("n_tasks", record.spec["n_tasks"]),
        "finished": record.is_finished,
        "exact": record.is_exact,
        **{name: None if math.isnan(measures[name]) else measures[name] for name in MEASURES},
        "spec": record.spec_hash[:16],
        "digest": record.digest,
    }
