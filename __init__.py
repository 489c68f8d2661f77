"""Puts a Hermes agent into a Chatto server. The gateway calls `register`; imports happen there."""


def register(ctx: object) -> None:
    """Register the platform `chatto` with a Hermes gateway.

    Args:
        ctx: the plugin context of the gateway.
    """
    from .actors.hermes import plugin  # noqa: PLC0415 - pytest imports this file alone

    def load_desk() -> plugin.OpenDesk:
        from .actors.bootstrap import open_desk  # noqa: PLC0415 - a second of imports

        return open_desk

    plugin.register(ctx, load_desk)
