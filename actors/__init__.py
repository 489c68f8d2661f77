"""Actors act: they own a chart and its rows, and talk to the world through ports."""
