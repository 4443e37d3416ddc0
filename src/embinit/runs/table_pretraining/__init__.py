"""Pre-training on the microcosm's unlabelled text: where its three tables come from.

Each module is one objective with the conventions that decide how wide its table gets: GloVe's
weighted least squares, BERT's masked language model, T5's span corruption. ``python -m
embinit.runs.table_pretraining make`` trains all three and writes the assets that the sources read;
``runs`` trains one again, otherwise, for a claim on why its table is as wide as it is.
"""

from embinit.data.sources.assets import Table, load_table, neighbour_purity, save_table
from embinit.runs.table_pretraining.corpus import Corpus
from embinit.runs.table_pretraining.glove import train_glove
from embinit.runs.table_pretraining.masked_language_model import train_masked_language_model
from embinit.runs.table_pretraining.span_corruption import train_span_corruption

__all__ = [
    "Corpus",
    "Table",
    "load_table",
    "neighbour_purity",
    "save_table",
    "train_glove",
    "train_masked_language_model",
    "train_span_corruption",
]
