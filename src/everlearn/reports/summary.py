"""A record in a dozen facts."""

import math
from typing import Any

from everlearn.evaluation import average_accuracy, average_incremental_accuracy, forgetting
from everlearn.runs import Record


def summary(record: Record) -> dict[str, Any]:
    """What a run did and how it went, as plain JSON values; None for what is not known yet.

    Seconds are those of the tasks that count: time lost to a crash is not in them.
    """
    scores = record.score_table()
    started: dict[str, Any] = next(record.events(), {})
    ended = [event for event in record.events() if event["event"] == "task-ended"]
    last = ended[-1] if ended else {}
    return {
        "record": str(record.folder),
        "learner": record.spec["learner"]["name"],
        "stream": started.get("stream"),
        "fingerprint": started.get("fingerprint"),
        "seed": record.spec["seed"],
        "tasks": len(ended),
        "tasks_planned": started.get("n_tasks", record.spec["n_tasks"]),
        "finished": record.is_finished,
        "exact": record.is_exact,
        "average_accuracy": _known(average_accuracy(scores)),
        "average_incremental_accuracy": _known(average_incremental_accuracy(scores)),
        "forgetting": _known(forgetting(scores)),
        "seconds": round(sum(row["seconds"] for row in record.seconds()), 3),
        "images": sum(event["n_images"] for event in ended),
        "flops": last.get("flops", 0.0),
        "weights_bytes": last.get("weights_bytes", 0),
        "memory_bytes": last.get("memory_bytes", 0),
        "spec": record.spec_hash[:16],
        "digest": record.digest,
    }


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
