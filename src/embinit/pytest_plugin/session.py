"""A session of claims: the plugins that collect, train, judge and conclude, over one training.

A claim is parametrised over its experiments on the tier, read at collection to learn its runs, and
judged when they are stored. SUPPORTED passes, REFUTED and NO EFFECT fail, UNDECIDED is an expected
failure, NOT RUN is skipped; a control passes when its verdict is the one it expects. Verdicts
travel with the reports, so that the controller gets them from any worker.
"""

from __future__ import annotations

import pytest

from embinit.pytest_plugin import hooks
from embinit.pytest_plugin.collection import Collection
from embinit.pytest_plugin.conclusion import Conclusion
from embinit.pytest_plugin.judging import Judging
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.pytest_plugin.training import TrainingPlugin


class ClaimSession:
    """The claims of one pytest session."""

    def __init__(self, config: pytest.Config) -> None:
        """Checks the options (pytest.UsageError), and registers the session's plugins."""
        if not hasattr(config.hook, hooks.pytest_embinit_definitions.__name__):
            config.pluginmanager.add_hookspecs(hooks)
        config.pluginmanager.load_setuptools_entrypoints(hooks.GROUP)
        options = SessionOptions(config)
        training = TrainingPlugin(options)
        collection, conclusion = Collection(options, training), Conclusion(options, training)
        judging = Judging(options, training)
        # The process that the user called concludes, and no worker.
        for plugin in (collection, training, judging, *([] if options.is_worker else [conclusion])):
            config.pluginmanager.register(plugin)
        self.parametrise = collection.parametrise
        self.collect_report = conclusion.pytest_runtest_logreport
        self.collect_error = conclusion.pytest_collectreport
