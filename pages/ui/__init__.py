"""The only package that wraps Streamlit."""
