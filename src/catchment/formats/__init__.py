"""The formats of the lake: one folder each, with everything that is specific to the format.

`registry` knows every format by its traits and loads its code only when it is used.
"""
