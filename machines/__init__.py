"""The charts: they decide, and nothing else.

No clock, no I/O, no logging; times and IDs come in with the event. `diagrams/` holds what
`machines.export` draws of them.
"""
