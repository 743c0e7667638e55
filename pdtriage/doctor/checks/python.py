"""The script, the Python that runs it, and the Paddle that Python has."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Mapping

from pdtriage.doctor.context import Context, Interpreter
from pdtriage.doctor.findings import Check, Finding, failed, ok, refused, skipped, warning
from pdtriage.launch.plan.start_refusals import refuse_missing_script
from pdtriage.support.errors import UserError
from pdtriage.support.language import Text

RUN_CHECK_SECONDS = 180
_RUN_CHECK = "import paddle; paddle.utils.run_check()"
_PADDLE = re.compile(r"(paddlepaddle(?:[-_][a-z]+)?)-\d.*\.(?:dist|egg)-info", re.IGNORECASE)


def script(context: Context) -> Finding:
    name = context.flags.training_script
    if not name:
        return skipped("script", "no script was given", "没有给出脚本")
    try:
        refuse_missing_script(name, context.environ)
    except UserError as refusal:
        return refused("script", refusal)
    return ok("script", f"{name} is there", f"{name} 存在")


def python(context: Context) -> Finding:
    found = context.interpreter
    if isinstance(found, UserError):
        return refused("python", found)
    return ok(
        "python",
        f"Python {found.version} ({found.path})",
        f"Python {found.version}（{found.path}）",
    )


def paddle(context: Context) -> Finding:
    found = context.interpreter
    if isinstance(found, UserError):
        return skipped("paddle", "no Python to ask", "没有可用的 Python")
    wheel = context.wheel
    if wheel is None:
        return failed(
            "paddle",
            Text(f"{found.path} has no Paddle", f"{found.path} 中没有安装 Paddle"),
            Text(
                "Install paddlepaddle or paddlepaddle-gpu there, or name another Python with "
                "--python.",
                "请在其中安装 paddlepaddle 或 paddlepaddle-gpu，或用 --python 指定其他 Python。",
            ),
        )
    packages = _packages(found)
    if len(packages) > 1:
        listed = ", ".join(packages)
        return warning(
            "paddle",
            Text(
                f"{listed} are installed side by side and overwrite each other's files",
                f"同时安装了 {listed}，它们会互相覆盖文件",
            ),
            Text(
                f"Uninstall all of them (pip uninstall {' '.join(packages)}) and install one anew.",
                f"请全部卸载（pip uninstall {' '.join(packages)}），再重新安装其中一个。",
            ),
        )
    return ok("paddle", f"{wheel.name} {wheel.version}", f"{wheel.name} {wheel.version}")


def run_check(context: Context) -> Finding:
    """Paddle's own test, which trains a tiny model; only on request, it takes many seconds."""
    if not context.wishes.run_check:
        return skipped("run-check", "only with --run-check", "仅在给出 --run-check 时执行")
    found = context.interpreter
    if isinstance(found, UserError) or context.wheel is None:
        return skipped("run-check", "there is no Paddle to check", "没有可供检查的 Paddle")
    code, output = _run_paddle_check(found, context.environ)
    if code is None:
        seen = Text(
            f"paddle.utils.run_check did not end within {RUN_CHECK_SECONDS} s",
            f"paddle.utils.run_check 在 {RUN_CHECK_SECONDS} 秒内没有结束",
        )
        return failed("run-check", seen, _see_for_yourself(found))
    if code == 0:
        return ok("run-check", "paddle.utils.run_check succeeded", "paddle.utils.run_check 通过")
    last = _last_line(output)
    how = f"exit code {code}" if code > 0 else f"signal {-code}"
    seen = Text(
        f"paddle.utils.run_check failed ({how}): {last}",
        f"paddle.utils.run_check 失败（{how}）：{last}",
    )
    return failed("run-check", seen, _see_for_yourself(found))


CHECKS = (
    Check("script", script),
    Check("python", python),
    Check("paddle", paddle),
    Check("run-check", run_check),
)


def _packages(found: Interpreter) -> list[str]:
    names: set[str] = set()
    for folder in found.folders:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        matches = (_PADDLE.fullmatch(entry) for entry in entries)
        names |= {match[1].lower().replace("_", "-") for match in matches if match}
    return sorted(names)


def _run_paddle_check(found: Interpreter, environ: Mapping[str, str]) -> tuple[int | None, str]:
    """Exit code and output of Paddle's test; no code when it took too long."""
    import subprocess
    import tempfile

    # A file, not a pipe: what the test starts on several cards may outlive it and hold a pipe.
    with tempfile.TemporaryFile() as written:
        child = subprocess.Popen(
            [found.path, "-c", _RUN_CHECK],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code: int | None
        try:
            code = child.wait(RUN_CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        written.seek(0)
        return code, written.read().decode("utf-8", "replace")


def _see_for_yourself(found: Interpreter) -> Text:
    command = f'{found.path} -c "{_RUN_CHECK}"'
    return Text(f"See it in full: {command}", f"查看完整输出：{command}")


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
