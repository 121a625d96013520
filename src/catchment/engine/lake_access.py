"""What an engine would be given to reach catalogs and stores, for whoever reads them without one."""

from __future__ import annotations

from catchment.engine.environment import passed_variables
from catchment.engine.settings import lake_settings
from catchment.formats.metadata_reading import Access
from catchment.plan.model import EnginePlan


def access_of(engine: EnginePlan) -> Access:
    """The settings and the environment variables of an engine."""
    variables = {**passed_variables(engine.settings.pass_environment), **engine.envs}
    return Access(lake_settings(engine), variables)
