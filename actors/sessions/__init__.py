"""What the plugin decides and remembers: admission, lanes, turns, answers, the connection.

May import the charts, the store and the runtime. Everything it needs of the world stands in
`ports`; nothing here touches the wire, Hermes, the environment or a clock of its own.
"""
