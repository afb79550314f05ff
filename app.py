"""The frame: page list and shared sidebar. Run with ``streamlit run app.py``.

Read twice: imported once by the server, before any session, and run as a script by every session.
"""

import os
from pathlib import Path

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

ROOT = Path(__file__).parent

if __name__ != "__main__":
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # sessions share the cores; small matrices are faster on one
    os.environ["PMT_THREADS"] = "1"  # so does a pass over private rows
    # A folder `pages/` would make the first deep link on a fresh server a page without this frame (decision 0002).
    PagesManager.uses_pages_directory = False
    from starlette.middleware import Middleware

    from pages.elements.deployed import refuse_unsafe
    from pages.elements.server import Guard, Squeezed, lifespan

    refuse_unsafe()
    app = st.App(ROOT / "app.py", lifespan=lifespan, middleware=[Middleware(Guard), Middleware(Squeezed)])
else:
    from pages.elements import actors, frame, links, scripts

    st.set_page_config(page_title="Second Moment", page_icon=str(ROOT / "assets" / "icon.svg"), layout="wide")
    inside = frame.admitted()
    navigation = st.navigation(
        {
            "Work": [
                st.Page("pages/work/start.py", title="Start", icon=":material/home:", default=True),
                st.Page("pages/work/data.py", title="Data", icon=":material/table:"),
                st.Page("pages/work/conditioning.py", title="Conditioning", icon=":material/target:"),
                st.Page("pages/work/plan.py", title="Plan", icon=":material/event_note:"),
                st.Page("pages/work/release.py", title="Release", icon=":material/verified_user:"),
                st.Page("pages/work/report.py", title="Report", icon=":material/description:"),
                st.Page("pages/work/explore.py", title="Explore", icon=":material/explore:"),
                st.Page("pages/work/budget.py", title="Budget", icon=":material/account_balance:"),
                st.Page("pages/work/compare.py", title="Compare", icon=":material/science:"),
            ],
            "Study": [
                st.Page("pages/study/learn.py", title="Learn", icon=":material/school:"),
                st.Page("pages/study/local.py", title="Local model", icon=":material/smartphone:"),
                st.Page("pages/study/sites.py", title="Sites", icon=":material/hub:"),
                st.Page("pages/study/retrieval.py", title="Retrieved budget", icon=":material/savings:"),
                st.Page("pages/study/audit.py", title="Audit", icon=":material/policy:"),
                st.Page("pages/study/gallery.py", title="Gallery", icon=":material/gallery_thumbnail:"),
            ],
        },
        position="sidebar" if inside else "hidden",
        expanded=True,
    )
    st.set_page_config(page_title=f"{navigation.title} · Second Moment")
    st.html(ROOT / "assets" / "style.css")
    if inside:
        scripts.place()
        frame.scroll_to_top(navigation.title)
        links.restore()
        try:
            navigation.run()
        except Exception:
            frame.draw()  # leads out of a page that broke
            raise
        links.keep()
        frame.draw()  # after the page: the sidebar says what the page opened or spent
    else:
        actors.draw_sign_in()
