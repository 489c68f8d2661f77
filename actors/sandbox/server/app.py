"""The application: one ASGI app that answers everything a Chatto server answers."""

from collections import Counter
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.routing import Mount, WebSocketRoute

from .connect import PREFIX, ConnectApp
from .faults import Faults, NoFaults
from .realtime import Realtime, Timing
from .routes import Routes
from .services import services_of
from .world import World


@dataclass(frozen=True, slots=True)
class Application:
    """A server without a socket."""

    world: World
    faults: Faults = field(default_factory=NoFaults)
    timing: Timing = field(default_factory=Timing)
    calls: Counter[str] = field(default_factory=Counter)
    """How often each method was called, by `Service/Method`; refused calls count, too."""


def build(application: Application) -> tuple[Starlette, Realtime]:
    """Build the ASGI app and what ends its streams."""
    world = application.world
    realtime = Realtime(world, application.faults, application.timing)
    connect = ConnectApp(
        services_of(world), world.credentials, application.faults, application.calls
    )
    routes = [
        *Routes(world).all(),
        WebSocketRoute("/api/realtime", realtime.serve),
        Mount(PREFIX, app=connect),
    ]
    return Starlette(routes=routes), realtime
