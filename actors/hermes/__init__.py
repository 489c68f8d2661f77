"""The Hermes edge: the only code that touches the gateway.

The adapter, the settings and what the plugin registers. Decides nothing about turns.
"""
