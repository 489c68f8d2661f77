"""All charts of the project, in the order a reader meets them."""

from typing import Any

from .chart import Chart
from .connection import ConnectionChart
from .delivery import DeliveryChart
from .prompt import PromptChart
from .room_session import RoomSessionChart
from .thread import ThreadChart
from .turn import TurnChart

__all__ = ["CHARTS"]

CHARTS: tuple[type[Chart[Any]], ...] = (
    TurnChart,
    ThreadChart,
    RoomSessionChart,
    DeliveryChart,
    ConnectionChart,
    PromptChart,
)
