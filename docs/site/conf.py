"""Sphinx's settings. Nothing is loaded from another host: Furo brings its fonts' names only, and search is a script."""

from sphinx.addnodes import pending_xref

from arcbandit.version import __version__

project = "arcbandit"
author = "arcbandit contributors"
version = release = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # as on code hosts, so that links to headings work in both
html_theme = "furo"
html_title = "arcbandit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a browser does not do from the disk
html_show_copyright = False
html_show_sphinx = False
html_domain_indices = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "native"
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # a console's lexer does not know of commands over several lines
smartquotes = False  # quotes are those of Python
nitpicky = True  # a name that is linked must have an entry; types in signatures are as the source writes them
nitpick_ignore_regex = [("py:class", ".*"), ("py:exc", ".*")]


def exact_types(app, doctree):
    """Types in signatures link to names of their own module alone: Sphinx would take any name with the same ending."""
    for node in doctree.findall(pending_xref):
        if node.get("refdomain") == "py":
            node.attributes.pop("refspecific", None)


def setup(app):
    """Have it done for every page."""
    app.connect("doctree-read", exact_types)
    return {"parallel_read_safe": True}
