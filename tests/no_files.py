"""Moments in which this process can open no file, as of a machine under load (EMFILE)."""

import gc
import os
import resource
from contextlib import contextmanager, nullcontext

import psutil


@contextmanager
def no_file_left():
    gc.collect()  # what it closed meanwhile would be opened in its place
    gc.disable()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        gc.enable()


@contextmanager
def next_process_unseen(monkeypatch):
    """Let psutil find no file left when it looks at a process the next time, and only then."""
    with monkeypatch.context() as patch:

        def starved(pid):
            patch.undo()
            with no_file_left():
                return psutil.Process(pid)

        patch.setattr(psutil, "Process", starved)
        yield


@contextmanager
def nothing_opened(monkeypatch, path):
    """Let there be no file left whenever this one is opened, and only then."""
    opened = os.open

    def starved(name, *arguments, **options):
        with no_file_left() if name == path else nullcontext():
            return opened(name, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", starved)
        yield
