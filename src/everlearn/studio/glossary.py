"""Explanations of learners, metrics and terms, each in one line with a link."""

import inspect
import re
from functools import cache
from typing import Any

from everlearn import learners
from everlearn.learners.registry import LEARNERS
from everlearn.reports.comparison_columns import COLUMNS

ARXIV = "https://arxiv.org/abs/"
REFERENCE = re.compile(r"References?: (.+?)(?:\n\n|\Z)", re.DOTALL)
ARXIV_ID = re.compile(r"arXiv:(\d{4}\.\d{4,5})")

TERMS = {
    "continual learning": "learning tasks one after another, without the data of earlier ones",
    "forgetting": "how much the accuracy on earlier tasks has dropped from its best value",
    "DCL": "disentangled continual learning: one network for poses, one stored exemplar per class",
    "VASE": "a variational autoencoder that detects changes of the environment and shares its latents",
    "exemplar": "a stored image of a class",
    "novelty score": "high for images of unknown classes; above the threshold the answer is unknown",
    "residual": "root mean squared error in gray levels after the exemplar was aligned to the image",
    "pose": "scale, angle and position of an object",
    "environment": "a kind of images, such as black on white or white on black",
    "latent": "one number of the code that a variational autoencoder gives an image",
    "score matrix": "accuracy on each task (column) after each task (row)",
}
"""Terms of the pages."""

METRICS = {
    "accuracy": "share of test images of all tasks so far that are recognized",
    "forgetting": "mean over earlier tasks of their best accuracy minus their accuracy now",
    "loss": "what the learner minimizes, batch by batch; not comparable between learners",
    "seconds": "training and evaluation of one task",
    "bytes": "parameters of the networks and stored data",
}
"""The curves of the runs page."""


def describe() -> dict[str, Any]:
    """All explanations as JSON values."""
    return {
        "terms": [{"name": name, "text": text} for name, text in TERMS.items()],
        "learners": [
            {"name": name, "text": f"{each.description}; trained on {each.supervision}", **reference(name)}
            for name, each in LEARNERS.items()
        ],
        "metrics": [
            *({"name": name, "text": text} for name, text in METRICS.items()),
            *(
                {"name": each.heading, "text": each.meaning}
                for each in COLUMNS
                if each.heading not in METRICS
            ),
        ],
    }


@cache
def reference(name: str) -> dict[str, str]:
    """The publication of a learner and a link to it; empty if its docstring names none.

    Example:
        >>> reference("si")["url"]
        'https://arxiv.org/abs/1703.04200'
    """
    found = REFERENCE.search(inspect.cleandoc(learners.learner_class(name).__doc__ or ""))
    if found is None:
        return {}
    text = " ".join(found[1].split())
    link = ARXIV_ID.search(text)
    return {"reference": text, **({"url": ARXIV + link[1]} if link else {})}
