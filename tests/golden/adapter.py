"""The names of everlearn that the golden runs use. A rename in the library is followed here and nowhere else.

The cases' own names (the keys of the tables) are keys of runs.json: they never change.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from everlearn import learners, streams
from everlearn.evaluation import protocols
from everlearn.evaluation.protocols.multiple_choice import (
    exemplar_matching,
    make_questions,
    match_pixels,
    score_choices,
)
from everlearn.learners import Learner
from everlearn.memory import ClassBalanced, Herding, Reservoir
from everlearn.networks import to_tensor
from everlearn.runs import Record, RunSpec, Stopped, record, resume
from everlearn.runs.events import TrainStep
from everlearn.serialization import image_from_json
from everlearn.streams import Batch, PairSampler, Stream, Task
from everlearn.streams.exports import FORMATS, export, load
from tests.golden import datasets

SPLITS = ("train", "val", "test", "held_out", "exemplars")
PURPOSE_ARGUMENT = "purpose"
"""What functions call an argument that is a random purpose."""

# ---------------------------------------------------------------------------------------- learners

SPRITES = {"stream": "sprites", "image_size": 16, "factor_values": 3, "classes_per_task": 3, "n_tasks": 3}
SPRITES |= {"split": (0.6, 0.1, 0.3)}
LEARNER_STREAMS: dict[str, dict[str, Any]] = {
    "sprites": SPRITES,
    "color": {**SPRITES, "rgb": True, "colour": 2, "scale": 1},
    "task-incremental": {**SPRITES, "scenario": "task-incremental"},
    "recurring": {**SPRITES, "boundaries": "recurring", "recur_every": 2},
    "environments": {
        "stream": "environments",
        "sequence": ("moving-sprites", "sprites", "inverted-sprites", "moving-sprites"),
        "image_size": 16,
        "n_shapes": 2,
        "images_per_shape": 100,
        "images_per_stage": 160,
    },
}


@dataclass(frozen=True)
class Case:
    """A learner with settings, and the stream that it is trained on."""

    learner: str
    settings: dict[str, Any] = field(default_factory=dict)
    stream: str = "sprites"
    batch_size: int = 8
    n_batches: int = 5


REPLAY = {"memory_size": 20, "replay_size": 6}
GNR = {"generator_width": 8, "n_latents": 4, "generator_epochs": 2, "generator_batch_size": 16}
GNR |= {"generator_replay_size": 6, "memory_size": 12, "replay_size": 4}
L2P = {"n_prompts": 4, "prompt_length": 2, "n_selected": 2}
VAE = {"size": "tiny", "n_latents": 6, "capacity_step": 0.1, "learning_rate": 0.005}
# Found by trial: environments are discovered, left and met again, and latents are masked in some of them.
VASE = {
    **VAE,
    "patience": 2,
    "cooldown": 2,
    "mask_freeze_after": 3,
    "kappa": 1.3,
    "gamma": 20.0,
    "snapshot_every": 5,
}
VASE |= {"usage_min_kl": 0.0, "mask_low": 0.0002, "mask_high": 0.0005}
DCL = {"width": 4, "input_size": 16}
EXEMPLARS = {**DCL, "pose_supervision": "exemplars"}


def vase(**settings: Any) -> Case:
    return Case("vase", {**VASE, **settings}, stream="environments", batch_size=20, n_batches=8)


def cci_vae(**settings: Any) -> Case:
    return Case("cci-vae", {**VAE, **settings}, stream="environments", batch_size=20, n_batches=3)


def gnr(**settings: Any) -> Case:
    return Case("gnr", {**GNR, **settings})


def earlier(learner: str, settings: Mapping[str, Any] | None = None, **case: Any) -> Case:
    """A classifier with the defaults that it had before `compact` and averaged weights; its values stay."""
    defaults = {"backbone": "small", "learning_rate": 1e-3, "average": 0.0}
    return Case(learner, {**defaults, **(settings or {})}, **case)


LEARNERS: dict[str, Case] = {
    # every learner once
    "a-gem": Case("a-gem", REPLAY),
    "ar1": Case("ar1"),
    "cci-vae": cci_vae(),
    "cls-er": Case("cls-er", REPLAY),
    "coda-prompt": Case("coda-prompt", {"prompt_length": 2, "n_components": 2}),
    "contrastive": Case("contrastive", {"embedding_size": 8}),
    "cumulative-budget": Case("cumulative-budget"),
    "cwr*": Case("cwr*"),
    "dcl": Case("dcl", DCL),
    "dcl-features": Case("dcl-features", {"input_size": 16, "n_exemplars": 2}),
    "dcl-paper": Case("dcl-paper", {"backbone": "small"}),
    "der": Case("der", REPLAY),
    "der++": Case("der++", REPLAY),
    "dgr": Case("dgr", {"replay_size": 6, "generator_size": "tiny", "n_latents": 4}),
    "dualprompt": Case("dualprompt", {"general_length": 2, "expert_length": 2}),
    "er": Case("er", REPLAY),
    "er-ace": Case("er-ace", REPLAY),
    "ewc": Case("ewc", {"n_fisher_images": 10}),
    "exemplar-replay": Case("exemplar-replay", {"replay_size": 6}),
    "fecam": Case("fecam", {"backbone": "pooled"}),
    "gdumb": Case("gdumb", {**REPLAY, "passes": 2}),
    "gnr": gnr(),
    "hpcr": Case("hpcr", REPLAY),
    "icarl": Case("icarl", {"memory_size": 20}),
    "joint": Case("joint"),
    "l2": Case("l2"),
    "l2p": Case("l2p", L2P),
    "lwf": Case("lwf"),
    "merge": Case("merge"),
    "mir": Case("mir", {**REPLAY, "n_candidates": 12}),
    "naive": Case("naive"),
    "nearest": Case("nearest"),
    "onpro": Case("onpro", {**REPLAY, "embedding_size": 8}),
    "packnet": Case("packnet"),
    "prd": Case("prd", {"embedding_size": 8}),
    "prototypes": Case("prototypes"),
    "ranpac": Case("ranpac", {"n_projections": 40}),
    "refresh": Case("refresh", {**REPLAY, "unlearning_rate": 0.01, "n_fisher_images": 10}),
    "scr": Case("scr", {**REPLAY, "embedding_size": 8}),
    "si": Case("si"),
    "simplecil": Case("simplecil"),
    "slda": Case("slda"),
    "uer": Case("uer", REPLAY),
    "vase": vase(),
    "wa": Case("wa", REPLAY),
    # classifiers: backbones, optimizers, other images
    "naive, sgd": earlier("naive", {"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.9}),
    "naive, mlp": earlier("naive", {"backbone": "mlp"}),
    "naive, pooled": earlier("naive", {"backbone": "pooled"}),
    "naive, mobile": earlier("naive", {"backbone": "mobile"}, n_batches=2),
    "naive, resnet18": earlier("naive", {"backbone": "resnet18"}, n_batches=1),
    "naive, resnet18-renorm": earlier("naive", {"backbone": "resnet18-renorm"}, n_batches=1),
    "naive, pooled-relu-renorm": earlier("naive", {"backbone": "pooled-relu-renorm"}),
    "naive, task-incremental": earlier("naive", stream="task-incremental"),
    "er, color": earlier("er", REPLAY, stream="color"),
    "er, class-balanced": earlier("er", {**REPLAY, "policy": "class-balanced"}),
    "er, recurring": earlier("er", REPLAY, stream="recurring"),
    "gdumb, recurring": earlier("gdumb", {**REPLAY, "passes": 2}, stream="recurring"),
    "icarl, recurring": earlier("icarl", {"memory_size": 20, "temperature": 2.0}, stream="recurring"),
    "ewc, sgd": earlier(
        "ewc", {"optimizer": "sgd", "momentum": 0.5, "strength": 1000.0, "decay": 0.5, "n_fisher_images": 10}
    ),
    "si, sgd": earlier("si", {"optimizer": "sgd", "learning_rate": 0.05, "strength": 10.0}),
    "l2, strong": earlier("l2", {"strength": 10.0}),
    "lwf, all labels": earlier("lwf", {"new_labels": "zero", "weighting": "by-labels"}),
    "prototypes, untrained": earlier("prototypes", {"n_training_tasks": 0}),
    "slda, untrained": earlier("slda", {"n_training_tasks": 0, "shrinkage": 0.1}),
    "slda, two tasks": earlier("slda", {"n_training_tasks": 2}),
    "er, group": Case("er", {**REPLAY, "norm": "group", "average": 0.5}),
    "exemplar-replay, alone": Case("exemplar-replay", {"replay_size": 6, "new_images": False}),
    "packnet, task-incremental": Case("packnet", {"kept": 0.5}, stream="task-incremental"),
    "merge, task-arithmetic": Case("merge", {"method": "task-arithmetic", "factor": 0.5}),
    "merge, ties": Case("merge", {"method": "ties"}),
    "contrastive, no separation": Case("contrastive", {"embedding_size": 8, "separation_weight": 0.0}),
    "l2p, color": Case("l2p", {**L2P, "pull_weight": 0.5}, stream="color"),
    "nearest, color": Case("nearest", stream="color"),
    # heads that are merged
    "cwr*, task": Case("cwr*", {"centering": "task"}),
    "cwr*, adam": Case("cwr*", {"optimizer": "adam", "momentum": 0.0, "lr_decay": 0.5}),
    "cwr*, recurring": Case("cwr*", stream="recurring"),
    "ar1, strong": Case("ar1", {"strength": 10.0, "max_importance": 0.5, "damping": 1e-3, "lr_decay": 0.5}),
    **{
        f"gnr, {source}, {role}, {form}": gnr(source=source, role=role, form=form)
        for source in ("generated", "real", "random")
        for role in ("positive", "negative")
        for form in ("ar1", "standalone")
        if (source, role, form) != ("generated", "negative", "ar1")  # the default
    },
    "gnr, none, ar1": gnr(source="none"),
    "gnr, none, standalone": gnr(source="none", form="standalone"),
    "gnr, lower rates later": gnr(lr_decay=0.5),
    "gnr, no classifier loss": gnr(eta=0.0, beta=1.0),
    "gnr, lower layer": gnr(replay_layer=2),
    "gnr, recurring": Case("gnr", GNR, stream="recurring"),
    # disentangled continual learning
    "dcl, exemplars": Case("dcl", EXEMPLARS),
    "dcl, exemplars, angles": Case("dcl", {**EXEMPLARS, "n_angles": 6}),
    "dcl, skips": Case("dcl", {**DCL, "skip_threshold": 0.5}, n_batches=12, batch_size=3),
    "dcl, resnet18": Case("dcl", {"backbone": "resnet18", "input_size": 16}, n_batches=1),
    "dcl, matrix": Case("dcl", {**DCL, "pose_parameterization": "matrix"}),
    "dcl, one look": Case("dcl", {**DCL, "n_refinements": 0}),
    "dcl, no averaging": Case("dcl", {**DCL, "ema_decay": 0.0}),
    "dcl, no candidates": Case("dcl", {**DCL, "n_candidates": 0}),
    "dcl, few candidates": Case("dcl", {**DCL, "n_candidates": 2}),
    "dcl, one round": Case("dcl", {**DCL, "n_search_rounds": 1}),
    "dcl, one size": Case("dcl", {**DCL, "n_scales": 1}),
    "dcl, no skips": Case("dcl", {**DCL, "skip_threshold": 0.0}),
    "dcl, no codes": Case("dcl", {**DCL, "block": 1}),
    "dcl, color": Case("dcl", DCL, stream="color"),
    "dcl, moments": Case("dcl", {**DCL, "pose_estimator": "moments"}),
    "dcl, frozen": Case("dcl", {**DCL, "train_tasks": 1}),
    "dcl-paper, reconstruction": Case("dcl-paper", {"backbone": "small", "reconstruction_weight": 0.5}),
    "dcl-paper, resnet18": Case("dcl-paper", n_batches=1),
    # variational autoencoders
    "cci-vae, gamma 100": cci_vae(gamma=100.0),
    "cci-vae, entangled": cci_vae(entangled=True, beta=4.0),
    "cci-vae, bounded": cci_vae(max_capacity=1.0),
    "cci-vae, small": cci_vae(size="small"),
    "vase, imagined": vase(exploration="imagined"),
    "vase, random": vase(exploration="random"),
    "vase, no clustering": vase(environment_inference=False),
    "vase, no masking": vase(latent_masking=False),
    "vase, no dreaming": vase(generative_replay=False),
    "vase, entangled": vase(entangled=True),
    "vase, snapshots": vase(snapshot_every=3, replay_size=7),
    "vase, encoder only": vase(decoder_weight=0.0),
    "vase, sampled pixels": vase(replay_pixels="sampled", encoder_weight=100.0),
    "vase, total error": vase(excess_nll=False),
    "vase, as published": vase(test_current=False, reset_optimizer=True, max_environments=2),
}


def learner_names() -> list[str]:
    return learners.names()


def build_learner(name: str, settings: Mapping[str, Any], stream: Stream, seed: int = 1) -> Learner:
    return learners.build(name, image_shape=stream.image_shape, seed=seed, **settings)


def train(learner: Learner, task: Task, batch_size: int, n_batches: int) -> list[dict[str, float]]:
    """The losses of the first batches of a task."""
    view = task.for_learner()
    learner.begin(view)
    batches = list(view.train.shuffled(0, task.index).batches(batch_size))[:n_batches]
    losses = [learner.learn(batch) for batch in batches]
    learner.end(view)
    return losses


def footprint(learner: Learner) -> list[float]:
    held = learner.footprint()
    return [held.weights, held.memory, learner.flops]


def capabilities(learner: Learner, images: Any) -> Iterator[tuple[str, Any]]:
    """What a learner computes of images beside predictions."""
    methods = (
        "encode",
        "posterior",
        "novelty",
        "estimate",
        "features",
        "environment_probabilities",
        "infer_environment",
    )
    for name, method in zip(
        ("codes", "posterior", "novelty", "factors", "features", "environments", "environment"),
        methods,
        strict=True,
    ):
        if hasattr(learner, method):
            found = getattr(learner, method)(images)
            yield name, factor_array(found) if name == "factors" else found
    if hasattr(learner, "inference_logits"):
        learner.net.eval()
        with torch.no_grad():
            yield "logits", learner.inference_logits(to_tensor(images)).numpy()
    if hasattr(learner, "decode"):
        yield "images", learner.decode(learner.encode(images), environment=0)


def factor_array(factors: Any) -> Any:
    """Scale, angle, x, y, red, green, blue: (n, 7)."""
    return np.concatenate([factors.array(), factors.colour], axis=1)


def buffer_purposes() -> set[str]:
    """Random purposes of memory buffers, which stand in attributes of their classes."""
    return {Reservoir.kind, ClassBalanced.kind, Herding.kind}


# ----------------------------------------------------------------------------------------- streams

SMALL = {"stream": "sprites", "image_size": 16, "factor_values": 3, "classes_per_task": 3}
FILMED = {
    "stream": "sprites-50", "image_size": 16, "frames_per_session": 4, "n_classes": 12, "classes_per_task": 2,
}  # fmt: skip
ENVIRONMENTS = {
    "stream": "environments",
    "sequence": ("sprites", "moving-sprites", "inverted-sprites", "coloured-sprites", "sprites"),
    "image_size": 16,
    "n_shapes": 4,
    "images_per_shape": 30,
    "images_per_stage": 60,
}
OMNIGLOT = {"stream": "omniglot", "image_size": 16, "classes_per_task": 3}
IMAGES = {"stream": "folder", "image_size": 16, "classes_per_task": 2}
FILES = "the files that with_files makes"
BENCHMARK = {"classes_per_task": 2, "split": (0.6, 0.2, 0.2)}
DOMAINS = {"classes_per_task": 10, "split": (0.6, 0.2, 0.2)}

STREAMS: dict[str, dict[str, Any]] = {
    "sprites": {**SMALL, "seed": 3},
    "class-incremental": SMALL,
    "domain-incremental": {**SMALL, "scenario": "domain-incremental"},
    "task-incremental": {**SMALL, "scenario": "task-incremental"},
    "nc": {**SMALL, "scenario": "nc"},
    "ni": {**SMALL, "scenario": "ni", "n_sessions": 6},
    "nic": {**SMALL, "scenario": "nic", "n_classes": 6, "n_sessions": 3},
    "blurry": {**SMALL, "boundaries": "blurry", "blurry_percent": 30},
    "gradual": {**SMALL, "boundaries": "gradual"},
    "recurring": {**SMALL, "boundaries": "recurring"},
    "recurring tasks": {**SMALL, "boundaries": "recurring", "scenario": "task-incremental"},
    "held-out count": {**SMALL, "held_out": 5},
    "held-out box": {**SMALL, "scale": {"low": 0.5, "high": 1}, "held_out": {"scale": [0.5, 0.6]}},
    "continuous": {**SMALL, "angle": {"low": 0, "high": 6}, "images_per_class": 60},
    "color": {**SMALL, "rgb": True, "colour": 3, "scale": 1},
    "nuisances": {**SMALL, "noise": 0.1, "clutter": 2, "occluder": 0.1},
    "alike": {**SMALL, "similarity": 0.8, "difficulty": 0.5},
    "filmed nc": {**FILMED, "scenario": "nc", "first_classes": 3},
    "filmed nic": {**FILMED, "scenario": "nic", "first_classes": 3},
    "filmed ni": {**FILMED, "scenario": "ni"},
    "environments": {**ENVIRONMENTS, "mix": 0.1},
    "environments, recurring": {**ENVIRONMENTS, "recurring": True},
    "folder": {**IMAGES, "data": FILES},
    "folder, posed": {
        **IMAGES,
        "data": FILES,
        "n_poses": 30,
        "held_out": {"scale": [0.5, 0.6]},
        "cut_out": False,
    },
    "folder, gray moving": {
        **IMAGES, "data": FILES, "rgb": False, "variant": "moving", "shuffled_classes": True,
    },
    "core50 nc": {"stream": "core50", "data": FILES, "image_size": 16, "classes_per_task": 1,
                  "first_classes": 2, "scenario": "nc"},
    "core50 nic": {"stream": "core50", "data": FILES, "image_size": 16, "classes_per_task": 1,
                   "first_classes": 2, "scenario": "nic"},
    "core50 ni": {"stream": "core50", "data": FILES, "image_size": 16, "classes_per_task": 1,
                  "scenario": "ni"},
    **{kind: {**BENCHMARK, "stream": kind, "data": FILES} for kind in datasets.WRITERS},
    "imagenet-r": {**BENCHMARK, "stream": "imagenet-r", "data": FILES, "image_size": 24},
    "permuted-mnist": {**DOMAINS, "stream": "permuted-mnist", "data": FILES},
    "rotated-mnist": {**DOMAINS, "stream": "rotated-mnist", "data": FILES, "n_tasks": 5},
    "split-cifar100, icarl": {
        **BENCHMARK, "stream": "split-cifar100", "data": FILES, "class_order": "icarl",
    },
    "cifar-50": {
        "stream": "cifar-50", "data": FILES, "image_size": 16, "scenario": "nic", "first_classes": 2,
        "classes_per_task": 1, "sessions_per_task": 2, "n_tasks": 5,
    },
    "objects-50": {
        "stream": "objects-50", "data": FILES, "image_size": 16, "n_classes": 6, "first_classes": 2,
        "classes_per_task": 1, "frames_per_session": 2,
    },
}  # fmt: skip
REAL_STREAMS: dict[str, dict[str, Any]] = {
    "omniglot": OMNIGLOT,
    "omniglot, posed": {**OMNIGLOT, "n_poses": 30},
    "omniglot, blurry": {**OMNIGLOT, "boundaries": "blurry", "variant": "moving"},
    "mnist": {"stream": "mnist", "image_size": 16, "classes_per_task": 5},
    "mnist, moving colored": {"stream": "mnist", "image_size": 16, "variant": "moving-coloured"},
    "fashion": {"stream": "fashion", "image_size": 16, "variant": "inverted"},
    "environments, default": {"stream": "environments", "image_size": 16, "images_per_stage": 60},
}


def stream_kinds() -> tuple[str, ...]:
    return streams.names()


def has_real_data() -> bool:
    return bool(os.environ.get("EVERLEARN_DATA"))


def build_stream(settings: Mapping[str, Any], files: Path | None = None) -> Stream:
    return streams.build(settings if files is None else with_files(settings, files))


def with_files(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The settings, with the files that they need written to a folder."""
    if settings.get("data") != FILES:
        return dict(settings)
    others = {"core50": write_core50, "folder": write_images, "cifar-50": datasets.write_cifar50}
    writers = {**others, **datasets.WRITERS}
    return {**settings, "data": writers[settings["stream"]](folder)}


def write_images(folder: Path) -> Path:
    """A folder of six classes with seven images each."""
    for label in range(6):
        (folder / f"class-{label}").mkdir(parents=True)
        for number in range(7):
            ramp = np.arange(20 * 20 * 3).reshape(20, 20, 3) * (2 * label + 1) + 31 * number
            Image.fromarray((ramp % 256).astype(np.uint8)).save(folder / f"class-{label}" / f"{number}.png")
    return folder


def write_core50(folder: Path) -> Path:
    """Three objects in seven sessions, as CORe50 is laid out."""
    for session in (1, 2, 3, 4, 7, 10, 11):
        for thing in (1, 2, 10):
            place = folder / f"s{session}" / f"o{thing}"
            place.mkdir(parents=True)
            for frame in range(2 + session % 3):
                ramp = np.arange(20 * 20 * 3).reshape(20, 20, 3) * thing + 10 * session + frame
                image = Image.fromarray((ramp % 256).astype(np.uint8))
                image.save(place / f"C_{session:02}_{thing:02}_{frame:03}.png")
    return folder


def relations() -> Iterator[Batch]:
    made = PairSampler(streams.SpriteSettings(image_size=16, colour=3, rgb=True), n_shapes=20)
    triplets, analogies = made.triplets(5, size=20), made.analogies(5, size=20)
    yield from (triplets.reference, triplets.near, triplets.far)
    yield from (analogies.a, analogies.b, analogies.c, analogies.d)


# --------------------------------------------------------------------------------------- protocols

HELD_OUT = {**SMALL, "n_tasks": 8, "held_out": 5}
TWO_PLACES = {
    "stream": "environments",
    "sequence": ("moving-sprites", "inverted-sprites"),
    "image_size": 16,
    "n_shapes": 2,
    "images_per_shape": 400,
    "images_per_stage": 400,
}
N_TASKS = 2
# Found by trial: each environment uses other latents.
LONGER_VASE = {**VASE, "learning_rate": 0.01, "capacity_step": 0.5, "cooldown": 6}
LONGER_VASE |= {"mask_low": 0.005, "mask_high": 0.01}
TRAINED = {
    "dcl": (Case("dcl", DCL, batch_size=16, n_batches=4), HELD_OUT),
    "nearest": (Case("nearest", batch_size=16, n_batches=4), HELD_OUT),
    "vase": (Case("vase", LONGER_VASE, batch_size=20, n_batches=20), TWO_PLACES),
    "cci-vae": (Case("cci-vae", {**VAE, "gamma": 20.0}, batch_size=20, n_batches=20), TWO_PLACES),
}
LENGTHS = [20, 20]


def _multiple_choice(learner: Learner, stream: Stream) -> list[Any]:
    questions = make_questions(stream, N_TASKS, n_choices=(2, 5), n_trials=6)
    with exemplar_matching(learner) as answer:
        scores = score_choices(answer, questions)
    return [*scores, *score_choices(match_pixels, questions)]


def _evaluate(name: str, n_batches: Sequence[int] = (), **options: Any) -> Callable[[Learner, Stream], Any]:
    def run(learner: Learner, stream: Stream) -> Any:
        return protocols.evaluate(name, learner, stream, N_TASKS, context={"n_batches": n_batches}, **options)

    return run


PROTOCOLS: dict[str, tuple[str, Callable[[Learner, Stream], Any]]] = {
    "one-shot": ("dcl", _evaluate("one-shot", n_new=(3, 6), n_images=12)),
    "open-set": ("dcl", _evaluate("open-set", n_images=20, accepted=0.9)),
    "held-out factors": ("dcl", _evaluate("held-out-factors", n_images=20)),
    "held-out factors, nearest": ("nearest", _evaluate("held-out-factors", n_images=20)),
    "multiple choice": ("dcl", _multiple_choice),
    "environments": ("vase", _evaluate("environments", LENGTHS, n_images=60)),
    "environments, cci-vae": ("cci-vae", _evaluate("environments", LENGTHS, n_images=60)),
    "traversal": ("vase", _evaluate("traversal", LENGTHS, n_images=60)),
    "traversal, cci-vae": ("cci-vae", _evaluate("traversal", image=3, n_images=60)),
    "cross-domain": ("vase", _evaluate("cross-domain", LENGTHS, n_images=40)),
    "ambiguity": ("vase", _evaluate("ambiguity", LENGTHS, n_images=64)),
    "latent factors": ("vase", _evaluate("disentanglement", n_images=60)),
    "latent factors, cci-vae": ("cci-vae", _evaluate("disentanglement", n_images=60)),
}


def result_json(result: Any) -> Any:
    """A protocol's result, or several, as plain JSON values; images are packed."""
    return [each.to_json() for each in result] if isinstance(result, list | tuple) else result.to_json()


def packed_image(value: Mapping[str, Any]) -> Any | None:
    """The image in a packed one; None for any other mapping."""
    return image_from_json(value) if set(value) == {"shape", "zlib"} else None


# ----------------------------------------------------------------------------------------- exports

EXPORT_FORMATS = FORMATS.names()
EXPORTED = {
    "gray": {**SMALL, "factor_values": 2, "n_tasks": 2, "held_out": 2},
    "color": {**SMALL, "factor_values": 2, "n_tasks": 2, "rgb": True, "colour": 2},
}
NO_DATA = ("README.md", "manifest.json")
"""Files of an export that hold words and keys."""
WRITTEN_BY = {"npz": "numpy", "png": "pillow", "parquet": "pyarrow", "webdataset": "pillow"}


def write_export(settings: Mapping[str, Any], folder: Path, to: str) -> Stream:
    """Write a stream and read it back."""
    export(build_stream(settings), folder, to=to)  # type: ignore[arg-type]
    return load(folder)


# -------------------------------------------------------------------------------------------- runs

RUN = {"n_tasks": 3, "batch_size": 16, "evaluation.n_images": 20, "evaluation.every_n_batches": 2}
ON_SPRITES = {**RUN, **{f"stream.{k}": v for k, v in SPRITES.items() if k not in ("stream", "n_tasks")}}
ON_ENVIRONMENTS = {
    **RUN,
    "n_tasks": 2,
    "evaluation.n_images": 40,
    **{f"stream.{k}": v for k, v in TWO_PLACES.items() if k != "stream"},
    "stream.images_per_stage": 64,
}
RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "er": ("sprites", "er", {**ON_SPRITES, **{f"learner.{k}": v for k, v in REPLAY.items()}}),
    "dcl": ("sprites", "dcl", {**ON_SPRITES, "epochs": 2, **{f"learner.{k}": v for k, v in DCL.items()}}),
    "cci-vae": (
        "environments",
        "cci-vae",
        {**ON_ENVIRONMENTS, **{f"learner.{k}": v for k, v in VAE.items()}},
    ),
}
STOPPED_AFTER = 5
"""Batches after which a run is stopped, to be resumed."""


def run_spec(stream: str, learner: str, settings: Mapping[str, Any]) -> RunSpec:
    return RunSpec.make(stream=stream, learner=learner, settings=settings)


def run_to_the_end(spec: RunSpec, folder: Path) -> Record:
    for _ in record(spec, folder):
        pass
    return Record(folder)


def run_with_a_stop(spec: RunSpec, folder: Path) -> Record:
    """The same run, stopped by a signal in the second task and resumed."""
    n_learned = 0
    with contextlib.suppress(Stopped):
        for event in record(spec, folder):
            n_learned += isinstance(event, TrainStep)
            if n_learned == STOPPED_AFTER:
                signal.raise_signal(signal.SIGTERM)
        raise AssertionError("the run did not stop")
    assert not Record(folder).is_finished
    for _ in resume(folder):
        pass
    return Record(folder)


def logs(made: Record) -> dict[str, list[dict[str, Any]]]:
    return {
        "events": list(made.events()),
        "scores": list(made.evaluations()),
        "probes": list(made.probes()),
    }


def score_matrix(made: Record) -> Any:
    return [[row["n_correct"], row["n_images"]] for row in made.evaluations() if row["n_batches"] is None]
