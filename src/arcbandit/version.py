"""The version of this library.

>>> from arcbandit import __version__
>>> __version__.count(".")
2
"""

__version__ = "0.1.0"
