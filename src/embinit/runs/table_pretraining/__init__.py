"""Pre-training on the microcosm's unlabelled text: where its three tables come from.

Three modules are objectives, each with the conventions that decide its table's sigma: GloVe's
weighted least squares, BERT's masked language model, T5's span corruption. ``python -m
embinit.runs.table_pretraining make`` trains all three and writes the assets that the sources read.
``runs`` trains one with a changed recipe, for claims on what decides its sigma.
"""

from embinit.data.sources.assets import TrainedTable, load_table, save_table
from embinit.runs.table_pretraining.corpus import Corpus
from embinit.runs.table_pretraining.glove import train_glove
from embinit.runs.table_pretraining.masked_language_model import train_masked_language_model
from embinit.runs.table_pretraining.span_corruption import train_span_corruption

__all__ = [
    "Corpus",
    "TrainedTable",
    "load_table",
    "save_table",
    "train_glove",
    "train_masked_language_model",
    "train_span_corruption",
]
