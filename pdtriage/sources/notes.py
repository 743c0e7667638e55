"""What was skipped or cut short, told in sentences that stay few however many files there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pdtriage.model import Text

Reason = Literal[
    "unreadable",
    "special",
    "outside",
    "depth",
    "entries",
    "encrypted",
    "archive",
    "packed",
    "bomb",
    "nested",
    "method",
    "large",
    "binary",
    "link",
    "twice",
    "again",
    "pipe",
    "vanished",
    "garbled",
    "misnamed",
    "unfamiliar",
    "denied",
    "stranger",
    "unanswered",
]

_SENTENCES: dict[Reason, tuple[str, str]] = {
    "unreadable": (
        "Could not be read (permission, or an error of the file system): {names}.",
        "无法读取（没有权限或文件系统出错）：{names}。",
    ),
    "special": (
        "Skipped, a socket, pipe or device is no log file: {names}.",
        "已跳过，套接字、管道或设备不是日志文件：{names}。",
    ),
    "outside": (
        "A link out of the folder was not followed; name its target to include it: {names}.",
        "指向文件夹之外的链接未被跟随，如需分析请直接指定其目标：{names}。",
    ),
    "depth": (
        "Nested too deep, not entered; name the log folder itself: {names}.",
        "目录层级过深，未进入；请直接指定日志目录：{names}。",
    ),
    "entries": (
        "Too many entries, the rest was not looked at; name the log folder itself: {names}.",
        "条目过多，其余部分未查看；请直接指定日志目录：{names}。",
    ),
    "encrypted": (
        "Encrypted, skipped; unpack with the password first: {names}.",
        "内容已加密，已跳过；请先用密码解压：{names}。",
    ),
    "archive": (
        "Damaged or incomplete archive; only what could be read was used: {names}.",
        "压缩包损坏或不完整，只使用了能读出的部分：{names}。",
    ),
    "packed": (
        "Damaged or incomplete; only what comes before the damage was used: {names}.",
        "内容损坏或不完整，只使用了损坏处之前的部分：{names}。",
    ),
    "bomb": (
        "Expands far more than a log does, reading was stopped early: {names}.",
        "解压后的体积远超正常日志，已提前停止读取：{names}。",
    ),
    "nested": (
        "An archive inside an archive inside an archive was not opened: {names}.",
        "嵌套超过两层的压缩包未打开：{names}。",
    ),
    "method": (
        "Packed in a way this tool cannot read; unpack it first: {names}.",
        "本工具不支持这种压缩方式，请先解压：{names}。",
    ),
    "large": (
        "A large archive in the folder was not opened; name it to have it read: {names}.",
        "文件夹中体积很大的压缩包未打开，如需分析请直接指定它：{names}。",
    ),
    "binary": (
        "Not a text file, skipped: {names}.",
        "不是文本文件，已跳过：{names}。",
    ),
    "link": (
        "A link inside an archive was not followed: {names}.",
        "压缩包内的链接未被跟随：{names}。",
    ),
    "twice": (
        "There both packed and unpacked, only the unpacked file was read: {names}.",
        "同一日志同时存在压缩版和未压缩版，只读取了未压缩的文件：{names}。",
    ),
    "again": (
        "More than once in the archive, the last one was read: {names}.",
        "压缩包中有多个同名文件，读取的是最后一个：{names}。",
    ),
    "pipe": (
        "Too much for the memory set aside for standard input, only its beginning was read: "
        "{names}.",
        "标准输入的内容超出可用内存，只读取了开头部分：{names}。",
    ),
    "vanished": (
        "Vanished before it could be read: {names}.",
        "文件在读取之前已消失：{names}。",
    ),
    "garbled": (
        "Does not look like text; it was read all the same: {names}.",
        "看上去不是文本，仍按文本读取：{names}。",
    ),
    "misnamed": (
        "Named as if it were compressed, and is not; it was read as it is: {names}.",
        "文件名像是压缩文件，内容却没有压缩，已按原样读取：{names}。",
    ),
    "unfamiliar": (
        "Not read, nothing shows that they are logs; name them on the command line to include "
        "them: {names}.",
        "未读取，看不出是日志；如需分析请在命令行中写出它们：{names}。",
    ),
    "denied": (
        "The storage refused access; check the credentials it is given: {names}.",
        "存储拒绝访问，请检查所用的凭据：{names}。",
    ),
    "stranger": (
        "The server's key is not in known_hosts; connect once with ssh and look at it: {names}.",
        "服务器的密钥不在 known_hosts 中，请先用 ssh 连接一次并核对：{names}。",
    ),
    "unanswered": (
        "The storage did not answer, or broke off, several times; what had come until then was "
        "used: {names}.",
        "存储多次没有响应或中断连接，只使用了此前读到的内容：{names}。",
    ),
}
_NAMED = 3

Trouble = tuple[Reason, str]
"""Why, and of which file."""


class Notes:
    """Collects (reason, path) and folds them: one sentence for each reason."""

    def __init__(self, troubles: Iterable[Trouble] = ()) -> None:
        self._paths: dict[Reason, dict[str, None]] = {}
        self.extend(troubles)

    def add(self, reason: Reason, path: str) -> None:
        self._paths.setdefault(reason, {})[path] = None

    def extend(self, troubles: Iterable[Trouble]) -> None:
        for reason, path in troubles:
            self.add(reason, path)

    def __bool__(self) -> bool:
        return bool(self._paths)

    def troubles(self) -> tuple[Trouble, ...]:
        return tuple((reason, path) for reason, paths in self._paths.items() for path in paths)

    def texts(self) -> tuple[Text, ...]:
        return tuple(
            _sentence(reason, sorted(self._paths[reason]))
            for reason in _SENTENCES
            if reason in self._paths
        )


def _sentence(reason: Reason, paths: list[str]) -> Text:
    en, zh = _SENTENCES[reason]
    more = len(paths) - _NAMED
    shown = paths[:_NAMED]
    en_names = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    zh_names = "、".join(shown) + (f" 等 {len(paths)} 个" if more > 0 else "")
    return Text(en=en.format(names=en_names), zh=zh.format(names=zh_names))
