"""Pictures: functions from records to Plotly figures. One look for all; nothing here imports streamlit."""
