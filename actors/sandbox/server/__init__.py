"""An embedded Chatto 0.4.20: everything a chat agent meets of the server, in memory.

A demo and the tests run on it. It speaks the server's three languages (Connect unary calls,
the realtime stream of protocol 1, plain HTTP for sign-in and files) and keeps its rules,
refusals included, down to the texts. What keeps it honest is a black-box suite that passes on
a real server and has to pass here unchanged (`tests/conformance`).

Three layers, each importing only those above it:

1. The wire's words: `pb` (generated messages), `refusals`, `ids`, `clock`, `faults`.
2. The world: `rows`, `accounts`, `rooms`, `threads`, `inbox`, ... hold state and change it.
   They are plain synchronous code on one event loop, so every call is one atomic step.
3. The edges: `*_calls` modules translate one Connect service each, `views` builds what they
   answer, `connect`, `realtime` and `routes` speak HTTP, `sandbox` runs it all.

It may import sessions' mention reader, so that client and server read mentions alike. Nothing
but tests and the demo may import it.
"""
