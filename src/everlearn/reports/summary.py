"""A record in a dozen facts."""

import math
from typing import Any

from everlearn.reports.findings import Findings


def summary(found: Findings) -> dict[str, Any]:
    """What a run did and how it went, as plain JSON values; None for what is not known.

    Seconds are those of the tasks that count: time lost to a crash is not in them.
    """
    record, started = found.record, found.started
    return {
        "record": str(record.folder),
        "name": record.name or None,
        "learner": record.spec["learner"]["name"],
        "stream": started.get("stream"),
        "fingerprint": started.get("fingerprint"),
        "seed": record.spec["seed"],
        "tasks": found.n_tasks,
        "tasks_planned": started.get("n_tasks", record.spec["n_tasks"]),
        "finished": record.is_finished,
        "exact": record.is_exact,
        **{name: None if math.isnan(value) else value for name, value in found.measures().items()},
        "edits": [{name: edit[name] for name in ("n_tasks", "act", "label")} for edit in found.edits],
        "spec": record.spec_hash[:16],
        "digest": record.digest,
    }
