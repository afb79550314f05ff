"""The frame: page list, shared sidebar. Run with ``streamlit run app.py``."""

from pathlib import Path

import streamlit as st

from pages.common import frame

ROOT = Path(__file__).parent

st.set_page_config(page_title="Second Moment", page_icon=str(ROOT / "assets" / "icon.svg"), layout="wide")
navigation = st.navigation(
    {
        "Work": [
            st.Page("pages/work/data.py", title="Data", icon=":material/table:", default=True),
            st.Page("pages/work/conditioning.py", title="Conditioning", icon=":material/target:"),
            st.Page("pages/work/release.py", title="Release", icon=":material/verified_user:"),
            st.Page("pages/work/compare.py", title="Compare", icon=":material/science:"),
        ]
    }
)
frame.draw()
navigation.run()
