"""Questions to a learner that has met its tasks.

Takes a learner, the stream it met and how many tasks of it; gives typed answers: how it takes to new classes
from one image each, whether it knows what it does not know, how it fares in poses nobody trained, whether
it finds a thing again among several, which a model behind a network address may be asked too; of one that
describes and draws, what its latents stand for and what becomes of images elsewhere or between. A learner
is left as it was found, and one that lacks the power a question needs is told so in a sentence.
"""

from everlearn.evaluation.protocols.ambiguity import Ambiguity, ambiguity
from everlearn.evaluation.protocols.base import editable_memory, rejecting
from everlearn.evaluation.protocols.cross_domain import Translation, translation
from everlearn.evaluation.protocols.held_out_factors import Transfer, transfer
from everlearn.evaluation.protocols.latent_factors import Factorisation, disentanglement
from everlearn.evaluation.protocols.multiple_choice import (
    Choice,
    Chooser,
    Question,
    by_memory,
    by_pixels,
    multiple_choice,
    questions,
)
from everlearn.evaluation.protocols.one_shot import OneShot, Shots, one_shot
from everlearn.evaluation.protocols.open_set import OpenSet, open_set
from everlearn.evaluation.protocols.traversal import Traversal, traversal
from everlearn.evaluation.protocols.vlm_client import Budget, Endpoint, Post, address

__all__ = [
    "Ambiguity",
    "Budget",
    "Choice",
    "Chooser",
    "Endpoint",
    "Factorisation",
    "OneShot",
    "OpenSet",
    "Post",
    "Question",
    "Shots",
    "Transfer",
    "Translation",
    "Traversal",
    "address",
    "ambiguity",
    "by_memory",
    "by_pixels",
    "disentanglement",
    "editable_memory",
    "multiple_choice",
    "one_shot",
    "open_set",
    "questions",
    "rejecting",
    "transfer",
    "translation",
    "traversal",
]
