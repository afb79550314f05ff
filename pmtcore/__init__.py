"""Private regression on a private table, made accurate by a little public data.

Headless: nothing in this package imports streamlit. The command line (``python -m pmtcore``) and the
application call the same functions.
"""

__version__ = "0.1.0"
