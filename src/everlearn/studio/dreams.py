"""What a learner that dreams has found out: its environments, and how a picture looks in each of them."""

from functools import cache
from typing import Any

import numpy as np

from everlearn import learners
from everlearn.chance import FloatArray
from everlearn.errors import BadInput
from everlearn.evaluation.imagination import pictures, walk
from everlearn.learners import Learner
from everlearn.learners.base.situated import Situated
from everlearn.runs import Play, Record
from everlearn.streams.batch import Images
from everlearn.studio.answers import NotThere
from everlearn.studio.curves import Points, moment
from everlearn.studio.pixels import data_url
from everlearn.studio.thinning import thinned

OVER_TIME = ("environment", "open", "capacity", "reconstruction")
"""What such a learner tells of every step."""
WALK = np.linspace(-2.5, 2.5, 11)
"""Values that a latent takes in a traversal; nearly all of N(0, 1) lies between the ends."""
ROWS = 12
"""Latents that are traversed, those that say most first."""


@cache
def dreams(name: str) -> bool:
    """Whether a learner tells environments apart and draws in each; False for one that is not known here.

    Example:
        >>> dreams("vase"), dreams("dcl")
        (True, False)
    """
    return name in learners.names() and issubclass(learners.learner_class(name), Situated)


def dreaming(learner: Learner) -> Situated:
    """The learner itself, if it is one that dreams."""
    if not isinstance(learner, Situated):
        raise BadInput("this learner tells no environments apart; look at a record of vase")
    return learner


def over_time(record: Record) -> Points:
    """Where the learner believed to be, and what it could say there, from its first step on."""
    points: Points = {name: [] for name in OVER_TIME}
    for event in record.events():
        if event["event"] == "learned":
            for name in points.keys() & event["losses"].keys():
                points[name].append((moment(event, record.spec["epochs"]), event["losses"][name]))
    return {name: thinned(some) for name, some in points.items()}


def environments(play: Play) -> dict[str, Any]:
    """Every environment the learner has met, and the stages it was really shown."""
    there = dreaming(play.learner).environments
    known = [
        {
            "number": number,
            "batches": each.n_batches,
            "open": int(each.mask.sum()),
            "used": np.flatnonzero(each.used).tolist(),
            "capacity": each.capacity,
            "error": each.error,
        }
        for number, each in enumerate(there.known)
    ]
    tasks = [play.stream.task(number) for number in range(max(1, play.position.task))]
    stages = [task.name or f"task {number + 1}" for number, task in enumerate(tasks)]
    return {"environments": known, "current": there.current, "stages": stages}


def sample(play: Play, task: int, number: int) -> Images:
    """A test picture of a stage; after the last comes the first."""
    if task >= max(1, play.position.task):
        raise NotThere(f"stage {task + 1} was not played yet")
    images = play.stream.task(task).test.images
    picture: Images = images[number % len(images)]
    return picture


def imagined(learner: Situated, picture: Images, environment: int | None) -> dict[str, Any]:
    """A picture drawn again in every environment, and walked along each latent in one of them.

    Args:
        learner: one that dreams.
        picture: (H, W) or (H, W, 3), of the learner's own size.
        environment: where to walk; the likeliest one if not said.
    """
    known = learner.environments.known
    chances = learner.chances(picture[None])[0]
    chosen = int(chances.argmax()) if environment is None else environment
    if chosen >= len(known):
        raise NotThere(f"there is no environment {chosen}; {len(known)} were met")
    latents = learner.encode(picture[None])
    again = [
        {
            "environment": s,
            "chance": float(chances[s]),
            "picture": data_url(pictures(learner, latents * known[s].mask, s)[0]),
        }
        for s in range(len(known))
    ]
    return {
        "seen": data_url(picture),
        "again": again,
        "chosen": chosen,
        "walks": _walks(learner, latents, chosen),
    }


def _walks(learner: Situated, latents: FloatArray, environment: int) -> list[dict[str, Any]]:
    """The picture as each latent that an environment uses goes from low to high, the others staying."""
    there = learner.environments.known[environment]
    used = np.flatnonzero(there.used & there.mask)
    by_nats = used[np.argsort(-there.nats[used], kind="stable")][:ROWS]
    rows = []
    for latent in by_nats.tolist():
        drawn = walk(learner, latents[0] * there.mask, latent, WALK.tolist(), environment)
        shown = [data_url(each) for each in drawn]
        rows.append({"latent": latent, "nats": float(there.nats[latent]), "pictures": shown})
    return rows
