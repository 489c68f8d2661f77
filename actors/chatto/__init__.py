"""The Chatto edge: the only code that touches chattolib or the wire.

Translates: payloads in, our events out; our commands in, calls out. Decides nothing.
"""
