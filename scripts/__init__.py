"""What `./dev` stands on: the environment inside the checkout, and the jobs that run in it.

Everything up to the environment uses the standard library alone, since it runs before anything
is installed. Nothing of the plugin may import from here.
"""
