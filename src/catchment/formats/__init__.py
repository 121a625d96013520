"""The formats of the lake: a folder for each, holding everything that is particular to it.

Importing this package costs nothing: `registry` knows every format by its traits and loads its code when it is used.
"""
