"""The documentation as a website: `python -m docs.site` builds it, with Sphinx, MyST and the theme Furo.

Pages stay Markdown that a code host shows as it is. They are copied to a folder of Sphinx with the links between them
mended; reference and notebooks are written there from the library and by running it.
"""
