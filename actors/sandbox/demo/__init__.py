"""The demo: people and the agent in one room, on the real gateway.

`python -m hermes_chatto.actors.sandbox.demo` starts an embedded Chatto server, a scripted model
and the real Hermes gateway with this checkout as its plugin, lets people talk to the agent, and
believes only what it then reads on the server. With `--talk` the reader joins in.

May import everything; nothing but tests imports it.
"""
