"""Learners by name: classes, settings and construction."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.errors import BadInput
from everlearn.registry import Registry
from everlearn.settings import first_line

if TYPE_CHECKING:
    from everlearn.learners.base import Learner
    from everlearn.settings import Settings


class LearnerEntry(NamedTuple):
    """The properties of a learner in lists, available without importing torch."""

    module: str  # the module below `everlearn.learners`
    class_name: str  # the class in it
    supervision: str  # training data with default settings
    supports_data_parallel: bool  # whether several processes can train it together
    description: str  # the first line of its docstring


IMAGES, LABELS = "images", "labelled images"
PAST_IMAGES, EXEMPLARS = f"{LABELS}, past images", f"{LABELS}, exemplars"
FACTORS, PRETRAINED = f"{LABELS}, factor labels, exemplars", f"{LABELS}, a pretrained network"

_TABLE = {
    "a-gem": ("agem", "AGEM", PAST_IMAGES, True, "Averaged gradient episodic memory"),
    "ar1": ("cwr", "AR1", LABELS, False, "AR1: CWR* head, backbone under synaptic intelligence"),
    "cci-vae": ("vase.cci_vae", "CCIVAE", IMAGES, False, "CCI-VAE: VAE with controlled capacity increase"),
    "cls-er": ("cls_er", "CLSER", PAST_IMAGES, True, "Experience replay with two averaged networks (CLS-ER)"),
    "coda-prompt": ("coda_prompt", "CODAPrompt", PRETRAINED, False,
        "CODA-Prompt: prefixes are weighted sums of components on a frozen transformer"),
    "contrastive": ("contrastive", "Contrastive", EXEMPLARS, True,
        "Supervised contrastive learning with class exemplars"),
    "cumulative-budget": ("joint", "CumulativeBudget", PAST_IMAGES, True,
        "Joint training with one step per batch"),
    "cwr*": ("cwr", "CWRStar", LABELS, False, "CopyWeights with reinit (CWR*): consolidated class weights"),
    "dcl": ("dcl", "DCL", FACTORS, False, "Disentangled continual learning"),
    "dcl-features": ("dcl_features", "DCLFeatures", EXEMPLARS, False,
        "Disentangled continual learning with frozen features"),
    "dcl-paper": ("dcl_paper", "DCLPaper", FACTORS, True, "Disentangled continual learning as published"),
    "der": ("der", "DER", PAST_IMAGES, True, "Dark experience replay"),
    "der++": ("der", "DERPlusPlus", PAST_IMAGES, True, "Dark experience replay with replayed labels (DER++)"),
    "dgr": ("dgr", "DGR", LABELS, False, "Deep generative replay"),
    "dualprompt": ("dualprompt", "DualPrompt", PRETRAINED, False,
        "DualPrompt: prefixes of all tasks and of each task on a frozen transformer"),
    "er": ("er", "ER", PAST_IMAGES, True, "Experience replay"),
    "er-ace": ("er_ace", "ERACE", PAST_IMAGES, True,
        "Experience replay with asymmetric cross-entropy"),
    "ewc": ("ewc", "EWC", LABELS, True,
        "Elastic weight consolidation (Fisher-weighted quadratic penalty), online variant"),
    "exemplar-replay": ("exemplar_replay", "ExemplarReplay", EXEMPLARS, True,
        "Replay of one exemplar per class in random poses"),
    "fecam": ("fecam", "FeCAM", LABELS, True,
        "Mahalanobis distance to class means of frozen features (FeCAM)"),
    "gdumb": ("gdumb", "GDumb", PAST_IMAGES, True, "Greedy sampler and dumb learner"),
    "gnr": ("gnr.learner", "GNR", LABELS, False, "Generative negative replay"),
    "hpcr": ("hpcr", "HPCR", PAST_IMAGES, True, "Holistic proxy-based contrastive replay"),
    "icarl": ("icarl", "ICaRL", PAST_IMAGES, True, "Incremental classifier and representation learning"),
    "joint": ("joint", "Joint", PAST_IMAGES, True, "Joint training on all tasks so far (upper bound)"),
    "l2": ("l2", "L2", LABELS, True, "Quadratic penalty on parameter drift"),
    "l2p": ("l2p", "L2P", PRETRAINED, False, "Learning to prompt"),
    "lwf": ("lwf", "LwF", LABELS, True, "Learning without forgetting"),
    "merge": ("merge", "Merge", LABELS, True, "Weight averaging over tasks (model merging)"),
    "mir": ("mir", "MIR", PAST_IMAGES, True, "Maximally interfered retrieval"),
    "naive": ("naive", "Naive", LABELS, True, "Sequential fine-tuning (lower bound)"),
    "nearest": ("nearest_mean_image", "NearestMeanImage", LABELS, False, "Nearest mean image in pixel space"),
    "onpro": ("onpro", "OnPro", PAST_IMAGES, True, "Online prototype learning"),
    "packnet": ("packnet", "PackNet", LABELS, False,
        "Iterative pruning: each task owns some weights of one network (PackNet)"),
    "prd": ("prd", "PRD", LABELS, True, "Prototype-sample relation distillation"),
    "prototypes": ("ncm", "NCM", LABELS, True, "Nearest class mean in a frozen feature space"),
    "ranpac": ("ranpac", "RanPAC", LABELS, True,
        "Random projections and ridge regression on frozen features (RanPAC)"),
    "refresh": ("refresh", "Refresh", PAST_IMAGES, True, "Experience replay with refresh learning"),
    "scr": ("scr", "SCR", PAST_IMAGES, True, "Supervised contrastive replay"),
    "si": ("si", "SI", LABELS, True, "Synaptic intelligence (path-integral importance)"),
    "simplecil": ("simplecil", "SimpleCIL", LABELS, True,
        "Cosine similarity to class means of frozen features (SimpleCIL)"),
    "slda": ("slda", "SLDA", LABELS, True, "Streaming linear discriminant analysis"),
    "uer": ("uer", "UER", PAST_IMAGES, True, "Unbiased experience replay"),
    "vase": ("vase.learner", "VASE", IMAGES, False, "Variational autoencoder with shared embeddings (VASE)"),
    "wa": ("wa", "WA", PAST_IMAGES, True, "Weight aligning"),
}  # fmt: skip
LEARNERS = {name: LearnerEntry(*row) for name, row in _TABLE.items()}
"""The learners of the package by short name."""


def _is_learner(component: Any) -> bool:
    from everlearn.learners.base import Learner

    return isinstance(component, type) and issubclass(component, Learner)


REGISTRY = Registry(
    kind="learner",
    group="everlearn.learners",
    builtin={name: f"everlearn.learners.{each.module}:{each.class_name}" for name, each in LEARNERS.items()},
    expected="a subclass of everlearn.learners.Learner",
    accepts=_is_learner,
)


def names() -> list[str]:
    """The short names of all learners, of this and of installed packages.

    Example:
        >>> {"a-gem", "cwr*", "der++"} <= set(names())
        True
    """
    return sorted(REGISTRY.names())


def entry(name: str) -> LearnerEntry:
    """The properties of a learner in lists; imports it only if it is not built in.

    Example:
        >>> entry("er").class_name, entry("er").supervision
        ('ER', 'labelled images, past images')
    """
    if name in LEARNERS:
        return LEARNERS[name]
    cls = learner_class(name)
    supervision, parallel = cls.supervision, cls.supports_data_parallel
    return LearnerEntry(cls.__module__, cls.__name__, supervision, parallel, first_line(cls.__doc__))


def learner_class(name: str) -> "type[Learner]":
    """The class of a learner: a short name, "package.module:Class" or "file.py:Class"; imported now.

    Example:
        >>> learner_class("er")
        <class 'everlearn.learners.er.ER'>
        >>> learner_class("everlearn.learners.er:ER") is learner_class("er")
        True
    """
    return REGISTRY.get(name)


def settings_class(name: str) -> "type[Settings]":
    """The settings of a learner as a pydantic model, without image_shape and seed.

    Example:
        >>> field = settings_class("er").model_fields["memory_size"]
        >>> field.default, field.description
        (2000, 'images stored in total')
    """
    from everlearn.learners.base import CONTEXT, settings_model

    return settings_model(learner_class(name), name, CONTEXT)


def complete(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a learner, checked: the given ones, and the defaults of the others.

    Example:
        >>> settings = complete("naive", {"optimizer": "sgd"})
        >>> settings["optimizer"], settings["learning_rate"]
        ('sgd', 0.002)
    """
    model = settings_class(name)
    if settings and not model.model_fields:
        raise BadInput(f"{name} has no settings, but {sorted(settings)[0]!r} was given; leave it out")
    return model(**settings).model_dump(mode="json")


def written(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as stored specs have them: without `late` ones that have their earlier value.

    Example:
        >>> written("naive", {"optimizer": "sgd", "norm": "own", "average": 0.0})
        {'optimizer': 'sgd'}
    """
    earlier = _earlier(name)
    return {key: value for key, value in settings.items() if key not in earlier or value != earlier[key]}


def as_written(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a stored spec; `late` settings that it leaves out have their earlier value.

    Example:
        >>> as_written("naive", {"optimizer": "sgd"})
        {'norm': 'own', 'average': 0.0, 'optimizer': 'sgd'}
    """
    return {**_earlier(name), **settings}


def _earlier(name: str) -> dict[str, Any]:
    """The values that `late` settings had before they were settings."""
    known = learner_class(name).settings
    return {key: each.unwritten for key, each in known.items() if each.late}


def build(name: str, *, image_shape: tuple[int, ...], seed: int, **settings: Any) -> "Learner":
    """A new learner; settings that are not given have their defaults.

    Example:
        >>> learner = build("er", image_shape=(16, 16), seed=0, memory_size=50)
        >>> learner.buffer
        <Reservoir: 0 of at most 50 images, 0 seen>
    """
    return learner_class(name)(image_shape=image_shape, seed=seed, **complete(name, settings))
