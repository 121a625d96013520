"""Catchment: declarative Spark workflows in which many engines write one lake at the same time."""
