"""What libraries raise, and processes that end in odd ways of reporting it."""

from __future__ import annotations

from .fault import ANY_STEP, Fault

FORMAT = ("data.format", "data.io", "data.worker", "code.python")


def raised(name: str, key: str, at: str, **more: object) -> Fault:
    """A user's exception, of a class that a library would define."""
    settings: dict[str, object] = {"weight": 4} | more
    return Fault(name, "exception", ("code.python",), at, key, **settings)  # type: ignore[arg-type]


def unreadable(name: str, key: str, sample: str, **more: object) -> Fault:
    """Data that a library cannot read."""
    settings: dict[str, object] = {"weight": 5, "moments": ("first", "middle", "middle")} | more
    return Fault(name, "data", FORMAT, key=key, sample=sample, **settings)  # type: ignore[arg-type]


def spoken(name: str, key: str, at: str, exits: tuple[int, ...] = (1,), **more: object) -> Fault:
    """A process that says why in words of its own, and leaves."""
    settings: dict[str, object] = {"weight": 5} | more
    return Fault(name, "exit", ("code.python", "unknown"), at, key, exits=exits, **settings)  # type: ignore[arg-type]


FAULTS = (
    raised(
        "config-attribute",
        "Missing key optim",
        "raise ConfigAttributeError('Missing key optim\\n    full_key: train.optim\\n"
        "    object_type=dict')",
        top="class ConfigAttributeError(AttributeError):\n    pass\n",
    ),
    raised(
        "yaml-scanner",
        "mapping values are not allowed here",
        "import yaml\nyaml.safe_load('a: b: c')",
    ),
    raised(
        "pydantic",
        "validation error for Settings",
        "from pydantic import BaseModel\nclass Settings(BaseModel):\n    rate: float\n"
        "Settings(rate='fast')",
    ),
    raised(
        "requests",
        "Max retries exceeded with url: /models",
        "import requests\nrequests.get('http://127.0.0.1:9/models', timeout=2)",
    ),
    raised(
        "http-error",
        "404 Client Error: Not Found",
        "import requests\nanswer = requests.Response()\nanswer.status_code = 404\n"
        "answer.reason = 'Not Found'\nanswer.raise_for_status()",
    ),
    raised(
        "sqlite",
        "no such table: trials",
        "import sqlite3\nsqlite3.connect(':memory:').execute('select * from trials')",
    ),
    raised(
        "overflow",
        "Python int too large to convert to C",
        "np.array([0], dtype='int64')[0] = 1 << 70",
    ),
    raised(
        "str-fails",
        "exception str() failed",
        "raise Broken()",
        top="class Broken(Exception):\n    def __str__(self):\n        return 1 / 0\n",
    ),
    raised(
        "plain-exception",
        "Exception: stage is out of order",
        "raise Exception('stage is out of order')",
    ),
    raised(
        "no-traceback",
        "RuntimeError: plan has no root",
        "sys.tracebacklimit = 0\nraise RuntimeError('plan has no root')",
    ),
    raised(
        "lookup-chain",
        "no optimizer named 'adamww'",
        "try:\n    try:\n        {}['adamww']\n    except KeyError as problem:\n"
        "        raise AttributeError('registry has no adamww') from problem\n"
        "except AttributeError as problem:\n"
        "    raise ValueError(\"no optimizer named 'adamww'\") from problem",
    ),
    raised(
        "child-failed",
        "preprocessing ended with status 3",
        "import multiprocessing\n"
        "child = multiprocessing.get_context('fork').Process(target=os._exit, args=(3,))\n"
        "child.start()\nchild.join()\n"
        "if child.exitcode:\n"
        "    raise RuntimeError(f'preprocessing ended with status {child.exitcode}')",
    ),
    raised(
        "queue-empty",
        "_queue.Empty",
        "import queue\nqueue.Queue().get(timeout=0.3)",
    ),
    raised(
        "thread-joined",
        "prefetcher died, see above",
        "import threading\n"
        "def fetch():\n    raise LookupError('catalog has no split train2')\n"
        "fetcher = threading.Thread(target=fetch, name='prefetch')\nfetcher.start()\n"
        "fetcher.join()\nraise RuntimeError('prefetcher died, see above')",
    ),
    raised(
        "logged-and-raised",
        "head has 3 classes, labels have 5",
        "import logging\n"
        "try:\n    raise ValueError('head has 3 classes, labels have 5')\n"
        "except ValueError:\n    logging.exception('model cannot be built')\n    raise",
    ),
    raised(
        "hinted",
        "alpha must lie between 0 and 1",
        "print('HINT: see docs/tuning.md if the next line is an error', flush=True)\n"
        "raise ValueError('alpha must lie between 0 and 1, got 1.5')",
    ),
    raised(
        "closed-stderr",
        "schedule ended before training did",
        "print('RuntimeError: schedule ended before training did', flush=True)\n"
        "sys.stderr.close()\nos.close(2)\nraise RuntimeError('schedule ended before training did')",
        moments=ANY_STEP,
    ),
    unreadable(
        "data-yaml",
        "expected <block end>",
        "import yaml\nyaml.safe_load('boxes:\\n  - 3\\n key')",
    ),
    unreadable(
        "data-zlib", "while decompressing data", "import zlib\nzlib.decompress(b'not packed')"
    ),
    unreadable(
        "data-tar",
        "tarfile.ReadError",
        "import io, tarfile\ntarfile.open(fileobj=io.BytesIO(b'x' * 700))",
    ),
    unreadable(
        "data-csv",
        "Error tokenizing data",
        "import io, pandas\npandas.read_csv(io.StringIO('a,b\\n1,2\\n3,4,5\\n'))",
    ),
    unreadable(
        "data-columns",
        "KeyError: 'caption'",
        "import pandas\npandas.DataFrame({'image': [1]})['caption']",
    ),
    unreadable(
        "data-opencv",
        "(-215:Assertion failed) !ssize.empty() in function 'resize'",
        "class error(Exception):\n    pass\nerror.__module__ = 'cv2'\n"
        'raise error("OpenCV(4.8.0) /io/opencv/modules/imgproc/src/resize.cpp:4062: error: "\n'
        "            \"(-215:Assertion failed) !ssize.empty() in function 'resize'\\n\")",
    ),
    unreadable("data-eof", "Ran out of input", "import io, pickle\npickle.load(io.BytesIO())"),
    unreadable(
        "data-xml",
        "no element found",
        "import xml.etree.ElementTree as tree\ntree.fromstring('<annotation>')",
    ),
    unreadable(
        "data-base64",
        "Invalid base64-encoded string",
        "import base64\nbase64.b64decode('abcde')",
    ),
    spoken(
        "exit-click",
        "Error: Invalid value for '--depth'",
        "print(\"Usage: train.py [OPTIONS]\\nTry 'train.py --help' for help.\\n\\n\"\n"
        "      \"Error: Invalid value for '--depth': 'deep' is not a valid integer.\",\n"
        "      file=sys.stderr, flush=True)\nsys.exit(2)",
        (2,),
    ),
    spoken(
        "exit-traceback-printed",
        "ValueError: window is larger than the sequence",
        "import traceback\n"
        "try:\n    raise ValueError('window is larger than the sequence')\n"
        "except ValueError:\n    traceback.print_exc()\n    sys.exit(1)",
    ),
    spoken(
        "exit-traceback-stdout",
        "ValueError: mask has no ones",
        "import traceback\n"
        "try:\n    raise ValueError('mask has no ones')\n"
        "except ValueError:\n    print(traceback.format_exc(), flush=True)\n    os._exit(3)",
        (3,),
    ),
    spoken(
        "exit-traceback-json",
        "ValueError: curriculum is empty",
        "import traceback\n"
        "try:\n    raise ValueError('curriculum is empty')\n"
        "except ValueError:\n"
        "    print(json.dumps({'level': 'error', 'event': 'training failed',\n"
        "                      'exception': traceback.format_exc()}), flush=True)\n"
        "    sys.exit(1)",
    ),
    spoken(
        "exit-traceback-prefixed",
        "ValueError: teacher and student differ",
        "import traceback\n"
        "try:\n    raise ValueError('teacher and student differ')\n"
        "except ValueError:\n"
        "    for line in traceback.format_exc().splitlines():\n"
        "        print(f'[rank {RANK}] {line}', flush=True)\n"
        "    sys.exit(1)",
    ),
    spoken(
        "exit-repr",
        "RuntimeError('optimizer has no state')",
        "print('aborting:', repr(RuntimeError('optimizer has no state')), flush=True)\nsys.exit(1)",
    ),
    spoken(
        "exit-stars",
        "unsupported precision fp6",
        "print('*' * 40 + '\\n* ERROR: unsupported precision fp6\\n' + '*' * 40, flush=True)\n"
        "sys.exit(1)",
    ),
    spoken(
        "exit-usage",
        "cannot be used together",
        "print('train.py: --amp and --fp64 cannot be used together', file=sys.stderr, flush=True)\n"
        "sys.exit(64)",
        (64,),
    ),
    Fault(
        "exit-after-sigpipe",
        "signal",
        ("external.kill", "unknown", "code.crash", "code.python"),
        "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "gone, end = os.pipe()\nos.close(gone)\nos.write(end, b'x')",
        moments=ANY_STEP,
        exits=(141,),
        weight=4,
    ),
    Fault(
        "trap",
        "native",
        ("code.crash", "external.kill", "unknown"),
        "import signal\nos.kill(os.getpid(), signal.SIGTRAP)\ntime.sleep(5)",
        exits=(133,),
        weight=4,
    ),
    Fault(
        "terminate-called",
        "native",
        ("code.crash",),
        "print(\"terminate called after throwing an instance of 'std::out_of_range'\\n\"\n"
        "      '  what():  vector::_M_range_check: __n (which is 7) >= this->size()',\n"
        "      file=sys.stderr, flush=True)\nos.abort()",
        "vector::_M_range_check",
        exits=(134,),
        moments=("before-init", *ANY_STEP, "save"),
        weight=5,
    ),
    Fault(
        "stack-smashing",
        "native",
        ("code.crash",),
        "print('*** stack smashing detected ***: terminated', file=sys.stderr, flush=True)\n"
        "os.abort()",
        "stack smashing detected",
        exits=(134,),
        moments=("before-init", *ANY_STEP, "save"),
        weight=4,
    ),
)
