"""The same pipeline on a running job: follow its logs, show them, say what is wrong, judge it.

`LiveObserver` and `LiveAnalyst` are what `pdtriage run` gives to the launch core; `watch` does the
same for a job that something else started. Nothing heavy is imported before the processes of the
job have been started.
"""
