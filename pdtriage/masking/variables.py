"""Variables whose values may be shown, and the masking of a dump of a whole environment."""

from __future__ import annotations

import re

from pdtriage.masking.substitution import MASK, Mask
from pdtriage.support.lazy_regex import lazy_compile

ALLOWED = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "FLAGS_selected_accelerators",
        "FLAGS_selected_gpus",
        "FLAGS_selected_npus",
        "FLAGS_selected_xpus",
        "HETER_DEVICE_TYPE",
        "PADDLE_CURRENT_ENDPOINT",
        "PADDLE_DISTRI_BACKEND",
        "PADDLE_ELASTIC_JOB_ID",
        "PADDLE_ELASTIC_NP",
        "PADDLE_GLOBAL_RANK",
        "PADDLE_GLOBAL_SIZE",
        "PADDLE_HETER_TRAINER_IP_PORT_LIST",
        "PADDLE_JOB_ID",
        "PADDLE_LOCAL_DEVICE_IDS",
        "PADDLE_LOCAL_RANK",
        "PADDLE_LOCAL_SIZE",
        "PADDLE_MASTER",
        "PADDLE_NNODES",
        "PADDLE_PORT",
        "PADDLE_PSERVERS_IP_PORT_LIST",
        "PADDLE_RANK_IN_NODE",
        "PADDLE_ROLE",
        "PADDLE_TRAINERS_NUM",
        "PADDLE_TRAINER_ENDPOINTS",
        "PADDLE_TRAINER_ID",
        "PADDLE_WORLD_DEVICE_IDS",
        "POD_IP",
        "POD_NAME",
        "STAGE_ID",
        "STAGE_NUM",
        "TRAINING_ROLE",
    }
)
"""Variables of a launch; nothing else is ever read from the files a launcher leaves."""

HARMLESS_VARIABLES = ALLOWED | {
    *("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "LOGNAME", "OLDPWD", "PATH", "PWD"),
    *("PYTHONPATH", "SHELL", "SHLVL", "TERM", "TZ", "USER", "HOSTNAME", "PYTHONUNBUFFERED"),
    *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUSTOM_DEVICE_ROOT", "DISPLAY"),
    *("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "PYTHONHASHSEED"),
}
_HARMLESS_BEGINNINGS = (
    *("NCCL_", "GLOO_", "BKCL_", "HCCL_", "UCX_", "OMP_", "MKL_", "KMP_", "CUDA_", "XPU_"),
    *("FLAGS_", "GLOG_", "ASCEND_", "OPENBLAS_", "LC_", "CUDNN_", "TRITON_"),
)
"""Settings of libraries of the field."""
_TELLING = lazy_compile(r"(?i)pass|pwd|secret|token|key|cred|auth|sk$|ak$")
_DUMP_DICT = lazy_compile(  # blanks in one place only, or there are too many ways to share them out
    r"""\{(?:\s*['"]\w{1,80}['"]:\s*(?:'[^'\n]*'|"[^"\n]*"),?){6,}\s*[^}\n]*\}?"""
)
_PAIR = lazy_compile(
    r"""(?P<keep>['"](?P<name>[A-Z_]\w*)['"]:\s*(?P<quote>['"]))(?P<value>(?:(?!(?P=quote))[^\n])*)"""
)
DUMPED = 5
"""So many variables, one a line, are a dump."""
_DUMP_LINES = lazy_compile(r"(?:^(?:export |declare -x )?[A-Z_][A-Z0-9_]*=.*(?:\n|$)){5,}", re.M)
_ASSIGNED = lazy_compile(r"(?P<keep>^(?:export |declare -x )?(?P<name>\w+)=)(?P<value>.*)$", re.M)


def is_harmless(name: str) -> bool:
    """Whether the value of a variable may be shown whatever it is."""
    if name in HARMLESS_VARIABLES:
        return True
    return name.startswith(_HARMLESS_BEGINNINGS) and not _TELLING.search(name)


def mask_dumps(text: str, mask: Mask) -> str:
    """A whole environment: only what is known to be harmless stays readable."""

    def _value(found: re.Match[str]) -> str:
        if is_harmless(found["name"]) or not found["value"] or MASK in found["value"]:
            return found.group()
        return found["keep"] + mask(found["value"])

    def _dump(found: re.Match[str]) -> str:
        is_dict = "{" in found.group()
        if is_dict and not _is_environment(found):
            return found.group()
        return (_PAIR if is_dict else _ASSIGNED).sub(_value, found.group())

    if "{" in text:
        text = _DUMP_DICT.sub(_dump, text)
    return _DUMP_LINES.sub(_dump, text) if text.count("=") >= DUMPED else text


def _is_environment(found: re.Match[str]) -> bool:
    """Names of variables are in capitals; a configuration has other names."""
    if found.string[max(0, found.start() - 8) : found.start()].endswith("environ("):
        return True
    names: list[str] = [pair["name"] for pair in _PAIR.finditer(found.group())]
    return 2 * sum(name.isupper() for name in names) > len(names)
