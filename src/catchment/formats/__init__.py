"""The formats of the lake, one folder each, which holds everything that is particular to the format.

`registry` knows every format by its traits and loads its code only when it is used.
"""
