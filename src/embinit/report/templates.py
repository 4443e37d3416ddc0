"""The environment of all pages' templates: everything is escaped, and nothing may be absent."""

from __future__ import annotations

import jinja2

from embinit.report import numbers

FILTERS = (
    "number",
    "plain",
    "short",
    "interval",
    "p_value",
    "percent",
    "count",
    "duration",
    "moment",
)
"""The functions of ``numbers`` that templates use under their own names."""


def environment_of_pages(package: str = "embinit.report") -> jinja2.Environment:
    """A new environment with the filters for numbers; a page adds its own.

    Args:
        package: The package with the page's template; what it includes may be embinit's.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(each, "") for each in (package, "embinit.report")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(numbers, name) for name in FILTERS}
    environment.globals |= {"decimals": numbers.decimals, "missing": numbers.MISSING}
    return environment
