"""Names of files that may be those of people, beyond recognition; equal within one session."""

import secrets
from hashlib import blake2b
from pathlib import PurePath
from typing import Final

import streamlit as st

SECRET: Final = "xray.secret"  # noqa: S105  a key of the session's state


def disguised(name: str) -> str:
    """Return what is equal for files of the same name without suffix, and only in this session.

    Lists of boxes name films as their files are called; the name cannot be told from this.
    """
    key: bytes = st.session_state.setdefault(SECRET, secrets.token_bytes(32))
    return blake2b(PurePath(name).stem.encode(), key=key, digest_size=16).hexdigest()
