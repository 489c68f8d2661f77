"""What the plugin costs: measured against the barest thing that does the same, in one run.

Numbers of a machine say little elsewhere, so both sides of a comparison are measured in turns, in
the same process where that is possible. Nothing of it is part of the suite but that it runs.
"""
