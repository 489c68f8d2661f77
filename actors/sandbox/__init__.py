"""An embedded Chatto server, a scripted model and the demo: what the suite and a reader run on."""
