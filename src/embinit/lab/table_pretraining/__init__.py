"""Pre-training on the microcosm's unlabelled text: where its tables come from.

Five modules are objectives, each with the conventions that decide its table's sigma: GloVe's
weighted least squares, BERT's masked language model, T5's span corruption, the skip-gram of
word2vec and fastText, ELMo's two-way language model. ``python -m embinit.lab.table_pretraining
make`` trains all six tables and writes the assets that the sources read.
``runs`` trains one with a changed recipe, for claims on what decides its sigma.
"""

from embinit.lab.data.sources.assets import TrainedTable, load_table, save_table
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.glove import train_glove
from embinit.lab.table_pretraining.masked_language_model import train_masked_language_model
from embinit.lab.table_pretraining.skip_gram import train_fasttext, train_word2vec
from embinit.lab.table_pretraining.span_corruption import train_span_corruption
from embinit.lab.table_pretraining.two_way_language_model import train_two_way_language_model

__all__ = [
    "Corpus",
    "TrainedTable",
    "load_table",
    "save_table",
    "train_fasttext",
    "train_glove",
    "train_masked_language_model",
    "train_span_corruption",
    "train_two_way_language_model",
    "train_word2vec",
]
