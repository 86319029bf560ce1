"""What a learner makes of one image: how it sees it, what it takes it for, how sure it is."""

from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.evaluation.protocols.traversal import images, walk
from everlearn.learners import EditsMemory, Generates, InfersEnvironment, Learner, MatchesExemplars
from everlearn.memory import ExemplarMemory
from everlearn.networks import to_tensor
from everlearn.networks.pose import poses_from_factors, to_canonical, to_uint8
from everlearn.rng import FloatArray
from everlearn.runs import Play, Record
from everlearn.streams.stream import Images
from everlearn.studio.image_decoder_child import data_url
from everlearn.studio.live_curves import Points, moment, thinned
from everlearn.studio.security import NotThere

OVER_TIME = ("environment", "active_latents", "capacity", "reconstruction")
"""What such a learner tells of every step."""
WALK = np.linspace(-2.5, 2.5, 11)
"""Values that a latent takes in a traversal; nearly all of N(0, 1) lies between the ends."""
ROWS = 12
"""Latents that are traversed, those that say most first."""


@runtime_checkable
class EnvironmentModel(Generates, InfersEnvironment, Protocol):
    """Infers environments, and decodes latents in each of them."""


@cache
def dreams(name: str) -> bool:
    """Whether a learner tells environments apart and draws in each; False for one that is not known here.

    Example:
        >>> dreams("vase"), dreams("dcl")
        (True, False)
    """
    return name in learners.names() and issubclass(learners.learner_class(name), EnvironmentModel)


def dreaming(learner: Learner) -> EnvironmentModel:
    """The learner itself, if it is one that dreams."""
    if not isinstance(learner, EnvironmentModel):
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
    learner = dreaming(play.learner)
    changes = learner.environment_changes()
    known = [
        {
            "number": number,
            "batches": each.n_batches,
            "active_latents": int(each.active.sum()),
            "used": np.flatnonzero(each.used).tolist(),
            "capacity": each.capacity,
            "nll": each.nll,
        }
        for number, each in enumerate(learner.environment_info())
    ]
    tasks = [play.stream.task(number) for number in range(max(1, play.position.task))]
    stages = [task.name or f"task {number + 1}" for number, task in enumerate(tasks)]
    return {"environments": known, "current": changes[-1][1] if changes else 0, "stages": stages}


def sample(play: Play, task: int, number: int) -> Images:
    """A test image of a stage; after the last comes the first."""
    if task >= max(1, play.position.task):
        raise NotThere(f"stage {task + 1} was not played yet")
    images = play.stream.task(task).test.images
    image: Images = images[number % len(images)]
    return image


def imagined(learner: EnvironmentModel, image: Images, environment: int | None) -> dict[str, Any]:
    """An image drawn again in every environment, and walked along each latent in one of them.

    Args:
        learner: one that dreams.
        image: (H, W) or (H, W, 3), of the learner's own size.
        environment: where to walk; the likeliest one if not said.
    """
    known = learner.environment_info()
    chances = learner.environment_probabilities(image[None])[0]
    chosen = int(chances.argmax()) if environment is None else environment
    if chosen >= len(known):
        raise NotThere(f"there is no environment {chosen}; {len(known)} were met")
    latents = learner.encode(image[None])
    again = [
        {
            "environment": s,
            "chance": float(chances[s]),
            "image": data_url(images(learner, latents * known[s].active, s)[0]),
        }
        for s in range(len(known))
    ]
    return {
        "seen": data_url(image),
        "again": again,
        "chosen": chosen,
        "walks": _walks(learner, latents, chosen),
    }


def _walks(learner: EnvironmentModel, latents: FloatArray, environment: int) -> list[dict[str, Any]]:
    """The image as each latent that an environment uses goes from low to high, the others staying."""
    there = learner.environment_info()[environment]
    used = np.flatnonzero(there.used & there.active)
    by_kl = used[np.argsort(-there.kl[used], kind="stable")][:ROWS]
    rows = []
    for latent in by_kl.tolist():
        drawn = walk(learner, latents[0] * there.active, latent, WALK.tolist(), environment)
        shown = [data_url(each) for each in drawn]
        rows.append({"latent": latent, "kl": float(there.kl[latent]), "images": shown})
    return rows


LEADING = 6
"""Remembered images that are shown beside the answer."""


@cache
def remembers(name: str) -> bool:
    """Whether a learner keeps images of what it knows; False for one that is not known here.

    Example:
        >>> remembers("dcl"), remembers("er")
        (True, False)
    """
    return name in learners.names() and issubclass(learners.learner_class(name), MatchesExemplars)


def recognised(learner: Learner, image: Images) -> dict[str, Any]:
    """The image as the learner turns it upright, the images most like it, and how new it seems.

    Args:
        learner: one that recognises by what it remembers.
        image: (H, W) or (H, W, 3), of the learner's own size.
    """
    if not isinstance(learner, MatchesExemplars) or not isinstance(learner, EditsMemory):
        raise BadInput("this learner does not answer with an image it remembers; try a record of dcl")
    if not len(learner.memory):
        raise BadInput("this learner remembers nothing; add a class on the memory page first")
    images = image[None]
    answer, novelty = int(learner.predict(images)[0]), float(learner.novelty(images)[0])
    factors = learner.estimate(images)
    upright = to_canonical(to_tensor(images), poses_from_factors(factors))
    return {
        "label": answer,
        "name": learner.memory.name(answer),
        "novelty": novelty,
        "factors": dict(zip(("scale", "angle", "x", "y"), factors.array()[0].tolist(), strict=True)),
        "seen": data_url(image),
        "upright": data_url(to_uint8(upright)[0]),
        "leading": _leading(learner, learner.memory, images),
    }


def _leading(learner: MatchesExemplars, memory: ExemplarMemory, images: Images) -> list[dict[str, Any]]:
    """The nearest exemplars, each aligned to the image, best first."""
    rows, squared = learner.nearest_exemplars(images, LEADING)
    residuals = np.sqrt(squared[0] / images.size)  # per pixel, in gray levels
    found = [(float(residuals[i]), int(row)) for i, row in enumerate(rows[0])]
    return [
        {
            "label": int(memory.labels[row]),
            "name": memory.name(int(memory.labels[row])),
            "residual": residual,
            "image": data_url(memory.images[row]),
        }
        for residual, row in sorted(found)
    ]
