"""Questions to a learner that has met its tasks.

Takes a learner, the stream it met and how many tasks of it; gives typed answers: how it takes to new classes
from one picture each, whether it knows what it does not know, how it fares in poses nobody trained. A learner
is left as it was found, and one that lacks the power a question needs is told so in a sentence.
"""

from everlearn.evaluation.protocols.one_shot import OneShot, Shots, one_shot
from everlearn.evaluation.protocols.open_set import OpenSet, open_set
from everlearn.evaluation.protocols.powers import editable_memory, rejecting
from everlearn.evaluation.protocols.transfer import Transfer, transfer

__all__ = [
    "OneShot",
    "OpenSet",
    "Shots",
    "Transfer",
    "editable_memory",
    "one_shot",
    "open_set",
    "rejecting",
    "transfer",
]
