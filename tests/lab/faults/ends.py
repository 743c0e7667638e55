"""Ends of processes: exits, signals, native crashes, hangs."""

from __future__ import annotations

import signal

from .fault import ANY_STEP, Fault, Outside

SILENT = ("unknown", "code.python")
KILLED = ("external.kill", "memory.host", "unknown")
CRASH = ("code.crash",)
STOPPED = ("external.kill",)
HANG = ("hang", "comm.timeout", "external.kill")


def crash(name: str, at: str, exits: tuple[int, ...], key: str = "", **more: object) -> Fault:
    settings = {"categories": CRASH} | more
    return Fault(name, "native", at=at, key=key, exits=exits, **settings)  # type: ignore[arg-type]


def stopped(name: str, number: signal.Signals, target: str, **more: object) -> Fault:
    """The whole job is told to stop: nobody in it is to blame."""
    settings = {
        "verdicts": ("interrupted",),
        "who": "nobody",
        "exits": (128 + number,),
        "moments": ("middle", "middle", "first"),
        "outside": Outside(number, target),
        "is_endless": True,
    }
    return Fault(name, "stopped", STOPPED, **settings | more)  # type: ignore[arg-type]


def hang(name: str, at: str, number: signal.Signals | None, **more: object) -> Fault:
    settings: dict[str, object] = {
        "verdicts": ("hung", "interrupted"),
        "outside": Outside(number, "launcher") if number else None,
        "moments": ("middle", "middle", "first", "evaluation"),
        "exits": (128 + number,) if number else (1,),
        "may_name_nobody": number is not None,
    }
    settings |= {"categories": HANG} | more
    return Fault(name, "hang", at=at, **settings)  # type: ignore[arg-type]


FAULTS = (
    Fault(
        "exit-message",
        "exit",
        ("code.python", "unknown"),
        'sys.exit("dataset manifest does not match the model, giving up")',
        "manifest does not match",
    ),
    Fault("exit-3", "exit", SILENT, "sys.exit(3)", exits=(3,)),
    Fault("exit-7-at-once", "exit", SILENT, "os._exit(7)", exits=(7,)),
    Fault(
        "exit-0-early",
        "exit",
        ("comm.peer", "unknown", "config.rank", "code.python"),
        "sys.exit(0)",
        moments=("middle", "middle", "init"),
    ),
    Fault("exit-1-at-once", "exit", SILENT, "os._exit(1)"),
    Fault("exit-255", "exit", SILENT, "os._exit(255)", exits=(255,)),
    Fault("exit-like-a-signal", "exit", (*SILENT, *KILLED[:2]), "sys.exit(137)", exits=(137,)),
    Fault(
        "exit-0-at-once",
        "exit",
        ("comm.peer", "unknown", "config.rank", "code.python"),
        "os._exit(0)",
        moments=("middle", "middle", "init"),
    ),
    Fault(
        "exit-loguru-critical",
        "exit",
        ("code.python", "unknown"),
        "print('2026-11-18 04:00:00.123 | CRITICAL | __main__:train:87 - the plan has no stages', "
        "file=sys.stderr, flush=True)\nsys.exit(4)",
        "the plan has no stages",
        exits=(4,),
    ),
    Fault(
        "exit-json-error",
        "exit",
        ("code.python", "unknown"),
        "print(json.dumps({'level': 'error', 'msg': 'curriculum has 0 phases, aborting'}), "
        "flush=True)\nsys.exit(1)",
        "curriculum has 0 phases",
    ),
    Fault(
        "exit-chinese-line",
        "exit",
        ("code.python", "unknown"),
        "print('错误：配置文件缺少 Arch.name，程序退出', flush=True)\nsys.exit(1)",
        "配置文件缺少",
    ),
    Fault(
        "exit-after-error-line",
        "exit",
        ("code.python", "unknown"),
        'print("error: vocabulary file has 3 columns, expected 2", flush=True)\nsys.exit(2)',
        "vocabulary file has 3 columns",
        exits=(2,),
    ),
    Fault(
        "exit-fatal-line",
        "exit",
        ("code.python", "unknown"),
        "print('FATAL: key Arch.name is missing in config.yml', file=sys.stderr, flush=True)\n"
        "sys.exit(-1)",
        "key Arch.name is missing",
        exits=(255,),
    ),
    Fault(
        "exit-logged-critical",
        "exit",
        ("code.python", "unknown"),
        "import logging\n"
        'logging.critical("validation of the configuration failed: depth must be even")\n'
        "sys.exit(1)",
        "validation of the configuration failed",
    ),
    Fault(
        "argparse",
        "exit",
        ("config.launch", "code.python", "unknown"),
        'import argparse\nparser = argparse.ArgumentParser(prog="train.py")\n'
        'parser.add_argument("--depth", type=int)\nparser.parse_args(["--depth", "deep"])',
        "argument --depth: invalid int value",
        moments=("import", "before-init"),
        who="all",
        exits=(2,),
    ),
    Fault(
        "kill-self",
        "signal",
        KILLED,
        "os.kill(os.getpid(), 9)",
        exits=(137,),
    ),
    Fault(
        "kill-rank",
        "signal",
        KILLED,
        moments=ANY_STEP,
        outside=Outside(signal.SIGKILL, "rank"),
        is_endless=True,
        exits=(137,),
    ),
    Fault(
        "term-rank",
        "signal",
        ("external.kill", "unknown"),
        moments=ANY_STEP,
        outside=Outside(signal.SIGTERM, "rank"),
        is_endless=True,
        exits=(143, 1),
    ),
    Fault(
        "int-rank",
        "signal",
        ("external.kill", "unknown"),
        key="KeyboardInterrupt",
        verdicts=("failed", "interrupted"),
        moments=ANY_STEP,
        outside=Outside(signal.SIGINT, "rank"),
        is_endless=True,
        exits=(130, 1),
    ),
    *(
        Fault(
            f"{number.name[3:].lower()}-rank",
            "signal",
            ("external.kill", "unknown", "code.crash"),
            moments=ANY_STEP,
            outside=Outside(number, "rank"),
            is_endless=True,
            exits=(128 + number,),
            weight=4,
        )
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT, signal.SIGXCPU)
    ),
    *(
        Fault(
            f"{number.name[3:].lower()}-all-ranks",
            "signal",
            categories,
            verdicts=("failed", "interrupted"),
            moments=ANY_STEP,
            outside=Outside(number, "ranks"),
            who="all",
            is_endless=True,
            exits=(128 + number, 1),
            may_name_nobody=True,
            weight=4,
        )
        for number, categories in ((signal.SIGTERM, STOPPED), (signal.SIGKILL, KILLED))
    ),
    Fault(
        "alarm",
        "signal",
        ("external.kill", "unknown", "code.crash"),
        "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.1)\ntime.sleep(5)",
        exits=(142,),
        weight=5,
    ),
    Fault(
        "cpu-limit",
        "signal",
        ("external.kill", "unknown", "code.crash"),
        "import resource\nused = int(time.process_time())\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (used + 1, used + 3))\nwhile True:\n    pass",
        moments=ANY_STEP,
        exits=(152, 137),
        weight=5,
    ),
    stopped("ctrl-c", signal.SIGINT, "launcher"),
    stopped("ctrl-c-terminal", signal.SIGINT, "group"),
    stopped(
        "ctrl-c-twice",
        signal.SIGINT,
        "launcher",
        outside=Outside(signal.SIGINT, "launcher", again=signal.SIGINT),
        exits=(130, 137, 1),
        weight=5,
    ),
    stopped("scheduler-term", signal.SIGTERM, "launcher"),
    stopped("scheduler-term-all", signal.SIGTERM, "group"),
    stopped("hang-up", signal.SIGHUP, "launcher", weight=4),
    stopped(
        "kill-launcher",
        signal.SIGKILL,
        "launcher",
        verdicts=("interrupted", "failed", "unknown"),
        weight=4,
        exits=(),
    ),
    stopped(
        "kill-all",
        signal.SIGKILL,
        "group",
        verdicts=("interrupted", "failed", "unknown"),
        weight=4,
        exits=(),
    ),
    crash("segfault", "import ctypes\nctypes.string_at(0)", (139, 134)),
    crash(
        "segfault-faulthandler",
        "import ctypes, faulthandler\nfaulthandler.enable()\nctypes.string_at(0)",
        (139, 134),
        "Fatal Python error: Segmentation fault",
    ),
    crash("segfault-signal", "os.kill(os.getpid(), 11)\ntime.sleep(5)", (139, 134)),
    crash(
        "double-free",
        "import ctypes\nlibc = ctypes.CDLL('libc.so.6')\n"
        "libc.malloc.restype = ctypes.c_void_p\nlibc.free.argtypes = [ctypes.c_void_p]\n"
        "block = libc.malloc(64)\nlibc.free(block)\nlibc.free(block)",
        (134,),
        moments=("before-init", *ANY_STEP, "save"),
    ),
    crash(
        "c-assertion",
        "import ctypes\nctypes.CDLL('libc.so.6').__assert_fail("
        "b'stride > 0', b'resample.c', 214, b'resample_rows')",
        (134,),
        "resample.c:214: resample_rows: Assertion",
        moments=("before-init", *ANY_STEP, "save"),
    ),
    crash(
        "bus-error",
        "import mmap\nwith open('table.bin', 'w+b') as table:\n    table.truncate(8192)\n"
        "    view = mmap.mmap(table.fileno(), 8192)\n    table.truncate(0)\n    print(view[5000])",
        (135, 134),
        categories=("code.crash", "memory.shm", "data.io"),
        moments=("before-init", *ANY_STEP, "save"),
    ),
    crash(
        "stack-overflow",
        "import ctypes\nsort = ctypes.CDLL('libc.so.6').qsort\n"
        "kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)\n"
        "sys.setrecursionlimit(1 << 30)\n"
        "row = (ctypes.c_int * 4)(4, 3, 2, 1)\n"
        "def compare(a, b):\n    sort(row, 4, 4, again)\n    return 0\n"
        "again = kind(compare)\nsort(row, 4, 4, again)",
        (139, 134),
        moments=("before-init", *ANY_STEP),
    ),
    crash("abort", "os.abort()", (134,), moments=("before-init", *ANY_STEP)),
    crash(
        "float-exception",
        "import ctypes\nctypes.CDLL('libc.so.6').lldiv(ctypes.c_longlong(1), ctypes.c_longlong(0))",
        (136, 134),
    ),
    crash(
        "illegal-instruction",
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
        'page.write(b"\\x0f\\x0b")\n'
        "ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()",
        (132, 134),
        moments=("before-init", *ANY_STEP, "save"),
    ),
    crash(
        "crash-before-paddle",
        "import ctypes\nctypes.string_at(0)",
        (139, 134),
        moments=("import",),
    ),
    hang("hang-ctrl-c", "time.sleep(3600)", signal.SIGINT),
    hang("hang-scheduler", "time.sleep(3600)", signal.SIGTERM),
    hang(
        "hang-lock",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        signal.SIGTERM,
    ),
    hang("hang-busy", "while True:\n    pass", signal.SIGTERM),
    hang("hang-stopped", "os.kill(os.getpid(), 19)", signal.SIGTERM, weight=4),
    hang(
        "hang-watchdog",
        "import faulthandler\nfaulthandler.dump_traceback_later(4, exit=True)\ntime.sleep(3600)",
        None,
        key="Timeout (0:00:04)!",
        verdicts=("failed", "hung"),
        categories=(*HANG, "code.python", "unknown"),
        weight=5,
    ),
    hang(
        "hang-timeout",
        "time.sleep(3600)",
        None,
        verdicts=("failed", "hung"),
        exits=(),
        weight=4,
    ),
    hang(
        "never-joins",
        "time.sleep(3600)",
        signal.SIGTERM,
        moments=("before-init",),
        verdicts=("hung", "interrupted", "failed"),
        categories=("comm.init", *HANG),
    ),
)
