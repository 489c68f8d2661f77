"""All charts of the project, and tables about them, in the order a reader meets them."""

from typing import Any

from .chart import Chart
from .connection import ConnectionChart
from .delivery import DeliveryChart
from .export import Table
from .membership import MembershipChart
from .prompt import PromptChart
from .room_session import RoomSessionChart
from .thread import ThreadChart
from .turn import TurnChart
from .turn_edits import TURN_EDITS

__all__ = ["CHARTS", "TABLES"]

CHARTS: tuple[type[Chart[Any]], ...] = (
    TurnChart,
    ThreadChart,
    RoomSessionChart,
    DeliveryChart,
    ConnectionChart,
    MembershipChart,
    PromptChart,
)

TABLES: tuple[Table, ...] = (TURN_EDITS,)
