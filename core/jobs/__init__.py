"""Jobs in the background: a durable table, one supervisor process a job, devices as slots.

`local.open_jobs` is the way in for pages and commands. `supervisor` is started with ``python -m``
and imports the standard library only, so this file stays empty.
"""
