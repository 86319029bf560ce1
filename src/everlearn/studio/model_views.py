"""Views of a trained learner: matching of an image with exemplars, environments and traversals."""

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.evaluation.latents import decode_images, traverse
from everlearn.learners import EditsMemory, Generates, InfersEnvironment, Learner, MatchesExemplars
from everlearn.memory import ExemplarMemory
from everlearn.networks import to_tensor
from everlearn.networks.divergences import bernoulli_entropy, bernoulli_nll
from everlearn.networks.pose import from_canonical, poses_from_factors, to_canonical, to_uint8
from everlearn.rng import FloatArray
from everlearn.runs import Record, RunState
from everlearn.runs.progress import tasks_trained
from everlearn.streams.stream import Images
from everlearn.studio.image_decoder import data_url
from everlearn.studio.live_curves import Curves, downsample
from everlearn.studio.security import NotFound

N_CANDIDATES = 6
"""Exemplars shown beside a prediction."""
N_ALIGNED = 2
"""Exemplars shown in the pose of the image: the best one and the runner-up."""
ENVIRONMENT_CURVES = ("environment", "active_latents", "capacity", "reconstruction")
"""Values that a learner that infers environments logs at each step."""
TRAVERSAL_VALUES = np.linspace(-2.5, 2.5, 11)
"""Values of a latent; nearly all of N(0, 1) is between the ends."""
MAX_TRAVERSALS = 12
N_INFERRED = 64
"""Test images of each task whose environment is inferred."""
MIN_PROBABILITY = 1e-6
"""Smallest probability of a pixel, which bounds its reconstruction error."""


@runtime_checkable
class EnvironmentModel(Generates, InfersEnvironment, Protocol):
    """Infers environments, and decodes latents in each."""


@cache
def matches_exemplars(name: str) -> bool:
    """Whether a learner compares images with stored exemplars; False for an unknown learner.

    Example:
        >>> matches_exemplars("dcl"), matches_exemplars("er")
        (True, False)
    """
    return _has_capability(name, MatchesExemplars)


@cache
def infers_environments(name: str) -> bool:
    """Whether a learner infers environments and decodes latents in each; False for an unknown learner.

    Example:
        >>> infers_environments("vase"), infers_environments("dcl")
        (True, False)
    """
    return _has_capability(name, EnvironmentModel)


def _has_capability(name: str, capability: type) -> bool:
    """Whether an installed learner has a capability; listing a record must not import files that it names."""
    return name in learners.names() and issubclass(learners.learner_class(name), capability)


def recognition(
    learner: Learner, image: Images, class_name: Callable[[int], str] | None = None
) -> dict[str, Any]:
    """The prediction for an image, its novelty score, its normalised pose, and the best candidates."""
    if not isinstance(learner, MatchesExemplars) or not isinstance(learner, EditsMemory):
        raise BadInput("this learner does not match exemplars; choose a record of dcl")
    if not len(learner.memory):
        raise BadInput("the memory of this learner is empty; add a class on the memory page first")
    images, name = image[None], class_name or learner.memory.name
    label, novelty = int(learner.predict(images)[0]), float(learner.novelty(images)[0])
    factors = learner.estimate(images)
    normalised = to_canonical(to_tensor(images), poses_from_factors(factors))
    return {
        "label": label,
        "name": name(label),
        "novelty": novelty,
        "factors": dict(zip(("scale", "angle", "x", "y"), factors.array()[0].tolist(), strict=True)),
        "input": data_url(image),
        "normalised": data_url(to_uint8(normalised)[0]),
        "candidates": [
            {**each, "name": name(each["label"])}
            for each in _candidates(learner, learner.memory, images, poses_from_factors(factors))
        ],
    }


def _candidates(
    learner: MatchesExemplars, memory: ExemplarMemory, images: Images, poses: Tensor
) -> list[dict[str, Any]]:
    """The nearest exemplars by increasing residual; the first ones also in the estimated pose."""
    rows, squared = learner.nearest_exemplars(images, N_CANDIDATES)
    residuals = np.sqrt(squared[0] / images.size)  # root mean square, in gray levels
    candidates: list[dict[str, Any]] = []
    for residual, row in sorted(zip(residuals.tolist(), rows[0].tolist(), strict=True)):
        label, exemplar = int(memory.labels[row]), memory.images[row]
        shown = _aligned(exemplar, images[0], poses) if len(candidates) < N_ALIGNED else {}
        candidates.append({"label": label, "residual": residual, "image": data_url(exemplar), **shown})
    return candidates


def _aligned(exemplar: Images, image: Images, poses: Tensor) -> dict[str, str]:
    """An exemplar in a pose, and its absolute difference from an image."""
    aligned = to_uint8(from_canonical(to_tensor(np.array(exemplar[None])), poses))[0]
    difference = np.abs(aligned.astype(np.int16) - image).astype(np.uint8)
    return {"aligned": data_url(aligned), "difference": data_url(difference)}


def environment_learner(learner: Learner) -> EnvironmentModel:
    """The learner, if it infers environments."""
    if not isinstance(learner, EnvironmentModel):
        raise BadInput("this learner does not infer environments; choose a record of vase")
    return learner


def environment_curves(record: Record) -> Curves:
    """The inferred environment, active latents, capacity and reconstruction error over training."""
    curves: Curves = {name: [] for name in ENVIRONMENT_CURVES}
    for event in record.events():
        if event["event"] == "train-step":
            x, values = tasks_trained(event, record.spec["epochs"]), event["losses"]
            for name in curves.keys() & values.keys():
                curves[name].append((x, values[name]))
    return {name: downsample(points) for name, points in curves.items()}


def n_batches_trained(record: Record) -> int:
    """Training batches of all tasks that were started; not every step is logged."""
    steps = [event for event in record.events() if event["event"] == "train-step"]
    return (steps[-1]["task"] + 1) * steps[-1]["n_batches"] * record.spec["epochs"] if steps else 0


def environment_table(run: RunState) -> dict[str, Any]:
    """The environments that a learner has inferred, and the names of the tasks it was trained on."""
    learner = environment_learner(run.learner)
    changes = learner.environment_changes()
    rows = [
        {
            "index": index,
            "n_batches": each.n_batches,
            "n_active": int(each.active.sum()),
            "n_used": int(each.used.sum()),
            "active": np.flatnonzero(each.active).tolist(),
            "used": np.flatnonzero(each.used & each.active).tolist(),
            "kl": each.kl.tolist(),
            "capacity": each.capacity,
            "error": each.nll,
        }
        for index, each in enumerate(learner.environment_info())
    ]
    tasks = [run.stream.task(index) for index in range(max(1, run.n_tasks_done))]
    names = [task.name or f"task {index + 1}" for index, task in enumerate(tasks)]
    current = changes[-1][1] if changes else 0
    inferred = [_inferred(learner, task.test.images[:N_INFERRED]) for task in tasks]
    about = {"tasks": names, "changes": changes or [], "inferred": inferred}
    return {"environments": rows, "current": current, **about}


def _inferred(learner: EnvironmentModel, images: Images) -> dict[str, Any]:
    """Number of images of a task per environment, image by image, and the environment of the whole batch."""
    n = len(learner.environment_info())
    errors, probabilities = reconstruction_errors(learner, images), learner.environment_probabilities(images)
    return {
        "by_error": np.bincount(errors.argmin(1), minlength=n).tolist(),
        "by_classifier": np.bincount(probabilities.argmax(1), minlength=n).tolist(),
        "batch": learner.infer_environment(images),
    }


def reconstruction_errors(learner: EnvironmentModel, images: Images) -> FloatArray:
    """Reconstruction error of images in every environment, (n, n_environments), above its lower bound.

    It separates environments even after a short run, when the classifier q(s | x) is still uncertain.
    """
    pixels, latents = torch.from_numpy(images / 255), learner.encode(images)
    decoded = (
        torch.from_numpy(learner.decode(latents * each.active, index)).double()
        for index, each in enumerate(learner.environment_info())
    )
    errors = [bernoulli_nll(torch.logit(each, MIN_PROBABILITY), pixels) for each in decoded]
    return (torch.stack(errors, 1) - bernoulli_entropy(pixels)[:, None]).numpy()


def task_image(run: RunState, task: int, index: int) -> Images:
    """A test image of a task that was trained on; indices wrap around."""
    if task >= max(1, run.n_tasks_done):
        raise NotFound(f"task {task + 1} has not been trained on yet")
    images = run.stream.task(task).test.images
    return images[index % len(images)]


def reconstructions(
    learner: EnvironmentModel,
    image: Images,
    environment: int | None,
    changed: tuple[int, float] | None = None,
) -> dict[str, Any]:
    """Reconstructions of an image in every environment, and latent traversals in one of them.

    Args:
        learner: the learner.
        image: (H, W) or (H, W, 3), in the learner's image shape.
        environment: of the traversals; None for the one with the smallest reconstruction error.
        changed: a latent and the value to set it to before it is decoded.
    """
    known = learner.environment_info()
    probabilities = learner.environment_probabilities(image[None])[0]
    errors = reconstruction_errors(learner, image[None])[0]
    selected = int(errors.argmin()) if environment is None else environment
    if selected >= len(known):
        raise NotFound(f"there is no environment {selected}; the learner has inferred {len(known)}")
    latents = learner.encode(image[None])
    if changed is not None:
        if changed[0] >= latents.shape[1]:
            raise NotFound(f"there is no latent {changed[0]}; the learner has {latents.shape[1]}")
        latents[0, changed[0]] = changed[1]
    return {
        "latents": latents[0].tolist(),
        "input": data_url(image),
        "reconstructions": [
            {
                "environment": index,
                "probability": float(probabilities[index]),
                "error": float(errors[index]),
                "image": data_url(decode_images(learner, latents * each.active, index)[0]),
            }
            for index, each in enumerate(known)
        ],
        "environment": selected,
        "traversals": _traversals(learner, latents, selected),
    }


def _traversals(learner: EnvironmentModel, latents: FloatArray, environment: int) -> list[dict[str, Any]]:
    """Traversals of the latents that an environment uses, by decreasing KL divergence."""
    known = learner.environment_info()[environment]
    used = np.flatnonzero(known.used & known.active)
    order = used[np.argsort(-known.kl[used], kind="stable")][:MAX_TRAVERSALS].tolist()
    values = TRAVERSAL_VALUES.tolist()
    return [
        {
            "latent": latent,
            "kl": float(known.kl[latent]),
            "images": [
                data_url(each)
                for each in traverse(learner, latents[0] * known.active, latent, values, environment)
            ],
        }
        for latent in order
    ]
