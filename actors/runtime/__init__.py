"""What any actor system needs: mailboxes, a supervisor, the store thread, clocks, back-off.

Knows no chat, no Chatto and no Hermes.
"""
