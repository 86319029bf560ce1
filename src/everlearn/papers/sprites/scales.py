"""The runs of the paper at three scales.

Laptop: DCL and the replay of figure 4 learn 500 tasks, A-GEM 50, as in the paper, each image once; replay
adds three stored images for each new one. Replay and A-GEM have the defaults of classifiers, chosen on seed
100. The other baselines are shorter. They use `pooled`, the former default backbone, on images downsampled to
32 px; replay methods see each new image once, together with three replayed ones, and the others train for
three epochs per task, the number needed to learn one well. Their settings were chosen on the stream with seed
9, which is not reported.

Paper: 500 tasks of 10 shapes on a 5^4 grid, ResNet-18, Adam at 0.001, batches of 256, 5 epochs, and the
strengths and buffer sizes of the paper. A-GEM ends after 50 tasks and L2P after 100, as in the paper.
"""

from everlearn.papers.experiment import Run, Scale, Series, Settings, learner, slug, stream

NONE: Settings = {}
FOLDER = "sprites"
"""Of the records at laptop scale."""
TWO, THREE = (0, 1), (0, 1, 2)
"""Seeds."""
PROTOCOLS = ("one-shot", "open-set", "multiple-choice")
DCL_200 = {"n_tasks": 200, "evaluation.every_n_tasks": 10}
DER = learner(alpha=0.1, beta=0.5, memory_size=5000)
PLAIN = {"learning_rate": 1e-3, "average": 0.0}
"""As in the paper, and of the records from before averaged weights were the default."""
REPLAY = {"epochs": 1, **learner(replay_size=96)}
LONG = {
    "n_tasks": 500,
    "batch_size": 32,
    "amp": True,
    "threads": 1,
    "evaluation.every_n_tasks": 10,
    **learner(replay_size=96),
}
"""Five hundred tasks on one core: the defaults of classifiers, in bfloat16."""
VIT, TIMM_VIT = "results/vit-fashion.safetensors", "hub:timm/vit_base_patch16_224.augreg_in21k_ft_in1k"


def _dcl(name: str, laptop: Run, smoke: Settings, paper: Settings, *protocols: str) -> Series:
    return Series(name, "dcl", Run(smoke), laptop, Run(paper, learner="dcl-paper"), protocols=protocols)


def _dcl_epochs(n: int, minutes: float) -> Series:
    """DCL with several epochs per task."""
    epochs = {"epochs": n}
    long = {**epochs, "n_tasks": 500, "evaluation.every_n_tasks": 10}
    return _dcl(f"dcl, {n} epochs", Run(long, TWO, minutes, f"dcl/500-tasks-{n}-epochs"), epochs, epochs)


def _baseline(
    name: str,
    method: str,
    minutes: float,
    smoke: Settings | None = NONE,
    laptop: Settings | None = NONE,
    paper: Settings | None = NONE,
    seeds: tuple[int, ...] = TWO,
    folder: str = "",
) -> Series:
    plain = NONE if method == "contrastive" else PLAIN
    small = {**learner(backbone="pooled", **plain), "batch_size": 32, "epochs": 3, "n_tasks": 20}
    return Series(
        name,
        method,
        None if smoke is None else Run(smoke),
        None if laptop is None else Run({**small, **laptop}, seeds, minutes, folder),
        None if paper is None else Run({**learner(backbone="resnet18", **plain), **paper}),
    )


def _er(label: str, size: int, smoke: int) -> Series:
    """Experience replay with a buffer of some size."""
    folder = f"{FOLDER}/500-tasks/er-{label}"
    return Series(
        f"er {label}",
        "er",
        Run(learner(memory_size=smoke)),
        Run({**LONG, **learner(memory_size=size)}, THREE, 35, folder),
        Run(learner(backbone="resnet18", **PLAIN, memory_size=size, replay_size=256)),
    )


def _er_30(label: str, size: int, smoke: Settings | None = None, paper: Settings | None = None) -> Series:
    """The first 30 tasks with the former default backbone, as long as DER."""
    settings = {**REPLAY, **learner(memory_size=size), "n_tasks": 30}
    name, folder = f"er {label}, 30 tasks", f"{FOLDER}/er-{label}"
    return _baseline(name, "er", 6.5, smoke, settings, paper, folder=folder)


def _short(
    name: str, minutes: float, smoke: Settings = NONE, laptop: Settings = NONE, paper: Settings = NONE
) -> Series:
    """Tasks of few classes, short enough for three seeds and for joint training."""
    return _baseline(
        f"{name}, short",
        name.split()[0],
        minutes,
        {**stream(classes_per_task=3), **smoke},
        {**stream(classes_per_task=5), **laptop},
        {**stream(classes_per_task=5), "n_tasks": 20, **paper},
        THREE,
        f"short/{slug(name)}",
    )


def _short_er(label: str, size: int, *, smoke: int) -> Series:
    laptop, paper = {**REPLAY, **learner(memory_size=size)}, learner(replay_size=256, memory_size=size)
    return _short(f"er {label}", 2.5, learner(memory_size=smoke), laptop, paper)


# Columns of baselines: series, learner, minutes at laptop scale, settings at smoke, laptop and paper scale.
TABLE = (
    _dcl("dcl", Run({"n_tasks": 500}, THREE, 16, "dcl/500-tasks"), {}, {"epochs": 1}),
    _dcl("dcl, 200 tasks", Run(DCL_200, THREE, 9, "dcl/200-tasks"), {"n_tasks": 4}, DCL_200, *PROTOCOLS),
    _dcl_epochs(3, minutes=10),
    _dcl_epochs(5, minutes=14),
    _baseline("naive", "naive", 4),
    _baseline("lwf", "lwf", 5, {}, learner(alpha=0.1), learner(alpha=0.1)),
    _baseline("ewc", "ewc", 4, {}, learner(strength=1.0), learner(strength=0.3)),
    _baseline("si", "si", 4, {}, learner(strength=0.1), learner(strength=0.1)),
    _er("1k", 1000, smoke=4),
    _er("2k", 2000, smoke=6),
    _er("5k", 5000, smoke=8),
    _er("10k", 10_000, smoke=10),
    _er("20k", 20_000, smoke=12),
    _er_30("250", 250),
    _er_30("1k", 1000),
    _er_30(
        "5k", 5000, learner(memory_size=9), {**learner(memory_size=5000, replay_size=256), "n_tasks": 200}
    ),
    _er_30("20k", 20_000),
    Series(
        "a-gem",
        "a-gem",
        Run(learner(memory_size=10)),
        Run({**LONG, **learner(memory_size=5000), "n_tasks": 50}, TWO, 3, f"{FOLDER}/50-tasks/a-gem"),
        Run({**learner(backbone="resnet18", **PLAIN, memory_size=500, replay_size=64), "n_tasks": 50}),
    ),
    _baseline(
        "der 5k",
        "der++",
        7,
        learner(memory_size=10),
        {**REPLAY, **DER, **learner(replay_size=48), "n_tasks": 30},  # it samples the buffer twice
        {**DER, **learner(replay_size=256), "n_tasks": 200},
    ),
    _baseline("contrastive", "contrastive", 6, paper={"n_tasks": 200}),
    Series(
        "l2p",
        "l2p",
        Run(),
        Run({"n_tasks": 12, "epochs": 3, "batch_size": 32, "learner.weights": VIT}, minutes=16),
        Run({"n_tasks": 100, "epochs": 20, "learner.weights": TIMM_VIT}),
    ),
    _short("naive", 2),
    _short_er("500", 500, smoke=4),
    _short_er("2k", 2000, smoke=8),
    _short_er("8k", 8000, smoke=12),
    _short("joint", 6, laptop={"epochs": 1}),
)

SCALES = (
    Scale(
        "smoke",
        "For tests: 16 px, two classes per task, three tasks.",
        TABLE,
        folder="smoke",
        settings={
            **stream(image_size=16, factor_values=2, classes_per_task=2),
            "evaluation.forward_transfer": False,
            "evaluation.n_images": 20,
            "batch_size": 16,
            "n_tasks": 3,
        },
        protocol_options={
            "one-shot": ("--n-new", "2,4", "--n-images", "20"),
            "open-set": ("--n-images", "20"),
            "multiple-choice": ("--n-choices", "2,4", "--n-trials", "5"),
        },
    ),
    Scale(
        "laptop",
        "Two cores: 64 px, small networks, 500 tasks for DCL and for replay in figure 4, 12 to 50 for the "
        "others. Other work ran on the machine at the same time, so the times are upper bounds.",
        TABLE,
        folder=FOLDER,
        settings={"evaluation.forward_transfer": False},
    ),
    Scale(
        "paper",
        "The size of the paper: 224 px, ResNet-18, 5 epochs, 500 tasks; needs a GPU.",
        TABLE,
        folder="paper",
        settings={
            "stream.image_size": 224,
            "evaluation.forward_transfer": False,
            "evaluation.n_images": 10_000,
            "batch_size": 256,
            "epochs": 5,
            "n_tasks": 500,
            "device": "cuda",
        },
    ),
)
