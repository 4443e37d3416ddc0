"""Claims over scikit-learn, with no torch: does scaling the columns help a linear model by SGD?"""

import random

from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from embinit import Family, claim, experiment, positive_control, training


@training(measures={"accuracy": "% accuracy", "train": "% accuracy"})
def classify(seed, scaled, examples=400, widest=1000.0, shuffled=False):
    """One column is ``widest`` times as large as the others, and says nothing."""
    x, y = make_classification(examples, 20, n_informative=8, flip_y=0.05, random_state=seed)
    x[:, 0] = x[::-1, 0] * widest
    x, test_x, y, test_y = train_test_split(x, y, test_size=0.5, random_state=seed)
    y = random.Random(seed).sample(list(y), len(y)) if shuffled else y
    model = SGDClassifier(max_iter=20, tol=None, random_state=seed)
    model = make_pipeline(StandardScaler(), model) if scaled else model
    model.fit(x, y)
    return {"accuracy": 100 * model.score(test_x, test_y), "train": 100 * model.score(x, y)}


columns = experiment(
    "columns",
    training=classify,
    arms={
        "raw": {"scaled": False},
        "scaled": {"scaled": True},
        "shuffled labels": {"scaled": True, "shuffled": True},
    },
    baseline="scaled",
    metric="accuracy",
    margin=2.0,
)
MINE = Family("columns/sgd", says="What wide columns cost")


@claim(
    "columns/sgd/scaled-above-raw",
    says="Scaled columns fare better than raw ones",
    family=MINE,
    on=columns,
)
def test_scaled_columns_fare_better(arms):
    assert arms["scaled"] > arms["raw"]


test_control = positive_control(MINE, on=columns, worse="shuffled labels")
