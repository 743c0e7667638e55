"""Lets every Python process of a job write down where it stands, once a signal asks for it.

This folder is on the path of a job only where nobody may look into its processes from outside
(`pdtriage.hang.stack_signal`). Python imports a module of this name at its start, whatever its
version: nothing of pdtriage is imported here, and nothing that fails here is the job's trouble. A
module of the same name that the user has is imported as ever.
"""

import contextlib
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _listen():  # type: ignore[no-untyped-def]
    import atexit
    import faulthandler
    import signal

    folder, number = os.environ["PDTRIAGE_STACKS"], int(os.environ["PDTRIAGE_STACK_SIGNAL"])
    if signal.getsignal(number) != signal.SIG_DFL:
        return
    pid = os.getpid()
    path = os.path.join(folder, "%d.stack" % pid)  # noqa: UP031 (whatever Python the job has)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW
    stream = os.fdopen(os.open(path, flags, 0o600), "wb", 0)
    faulthandler.register(number, file=stream, all_threads=False)

    def forget():  # type: ignore[no-untyped-def]
        if os.getpid() == pid:
            faulthandler.unregister(number)
            os.unlink(path)

    atexit.register(forget)


def _import_the_users_own():  # type: ignore[no-untyped-def]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    path = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


with contextlib.suppress(Exception):  # its stacks are missing then, and nothing else
    _listen()  # type: ignore[no-untyped-call]
_import_the_users_own()  # type: ignore[no-untyped-call]
