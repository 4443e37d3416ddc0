"""Made sentence pairs in the format of SICK's file, to try the task without the real data.

SICK (Marelli et al. 2014) is one tab-separated file; a column says which split a pair is in. What
is made here has its columns, its labels and its kinds of pairs: a more general word entails,
``not`` contradicts, and another subject or deed is neutral.
"""

import random

COLUMNS = (
    *("pair_ID", "sentence_A", "sentence_B", "entailment_label", "relatedness_score"),
    *("entailment_AB", "entailment_BA", "sentence_A_original", "sentence_B_original"),
    *("sentence_A_dataset", "sentence_B_dataset", "SemEval_set"),
)
COUNTS = {"TRAIN": 1200, "TRIAL": 400, "TEST": 400}
SUBJECTS = {"person": ("man", "woman", "boy", "girl"), "animal": ("dog", "cat", "horse", "bird")}
DEEDS = {
    "moving": ("running", "jumping", "walking"),
    "eating something": ("eating bread", "eating fruit", "eating meat"),
    "making a sound": ("singing", "crying", "shouting"),
}
PLACES = ("in a park", "on a street", "near a river", "in a house")


def pair(draw):
    """A premise, a hypothesis, its label, and how related they are."""
    kind, deed_kind = draw.choice([*SUBJECTS]), draw.choice([*DEEDS])
    subject, deed = draw.choice(SUBJECTS[kind]), draw.choice(DEEDS[deed_kind])
    premise = f"A {subject} is {deed} {draw.choice(PLACES)}"
    label = draw.choice(("ENTAILMENT", "NEUTRAL", "CONTRADICTION"))
    if label == "ENTAILMENT":
        subject, deed = draw.choice([(kind, deed), (subject, deed_kind), (kind, deed_kind)])
        return premise, f"A {subject} is {deed}", label, 4.5
    if label == "CONTRADICTION":
        return premise, f"The {subject} is not {deed}", label, 3.5
    other = draw.choice([each for each in DEEDS if each != deed_kind])
    # Some neutral pairs have a negation too, so that the word alone does not give the label away.
    if draw.random() < 0.3:
        return premise, f"The {subject} is not {other}", label, 2.5
    return premise, f"A {subject} is {draw.choice(DEEDS[other])}", label, 2.5


def sick_text(seed=20140801):
    """The whole file as text."""
    draw = random.Random(seed)
    lines = ["\t".join(COLUMNS)]
    for split, count in COUNTS.items():
        for _ in range(count):
            premise, hypothesis, label, score = pair(draw)
            ways = (f"A_{label.lower()}_B", "B_neutral_A", premise, hypothesis, "MADE", "MADE")
            row = (len(lines), premise, hypothesis, label, score, *ways, split)
            lines.append("\t".join(map(str, row)))
    return "\n".join(lines) + "\n"
