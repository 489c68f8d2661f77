"""The campaign: the plugin is killed at every await point, started again, and looked at.

Nothing here is needed by an operator. `./dev campaign` runs it in full, the suite in short.
"""
