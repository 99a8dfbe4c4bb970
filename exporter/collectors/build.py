"""Which build of the exporter runs."""

from __future__ import annotations

import os

from catalog.families import exporter as own
from catalog.family import Tier
from exporter.collector import Collector, Context
from exporter.version import PYTHON, installed

REVISION_VARIABLE = "HOSTPULSE_REVISION"


class BuildCollector(Collector):
    """One constant; images and packages put the revision they were built from into the environment."""

    name = "build"
    tier = Tier.STATIC
    families = (own.BUILD_INFO,)
    sources = ()

    def __init__(self, context: Context) -> None:
        del context
        self.series = (own.BUILD_INFO(installed(), os.environ.get(REVISION_VARIABLE, ""), PYTHON),)

    def read(self) -> list[float]:
        """The constant 1."""
        return [1.0]
