"""What happened to the cards of a run, as moments of its timeline: by `<job>.gpu.log`, and by what
the driver told while it ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pdtriage.model import CardEvent, CardHistory, Moment, RunFacts, Text

FULL = 0.97
GONE_LOOKS = 2
"""Looks at the other cards after the last at one that gives no numbers any more."""
IDLE_LOOKS, IDLE, BUSY = 3, 5, 80
"""A card that did nothing in the last looks while all others worked, in per cent."""

_Happened = tuple[CardHistory, float, Text]


def card_moments(facts: RunFacts) -> list[Moment]:
    """What happened to the cards, told by the rank that had the card, where that is known."""
    ranks = {(rank.host, rank.device): rank.rank for rank in facts.ranks if rank.device}
    hosts = dict.fromkeys(card.host for card in facts.cards)
    moments = []
    for host in hosts:
        cards = [card for card in facts.cards if card.host == host and card.samples]
        for card, when, text in (*_filled(cards), *_gone(cards), *_idle(cards)):
            moments.append(Moment(when, ranks.get((host, card.device)), "warning", text))
    for event in facts.card_events:
        rank = ranks.get((event.host, event.device))
        moments.append(Moment(event.time, rank, "warning", card_event_text(event)))
    return moments


def card_event_text(event: CardEvent) -> Text:
    """`card 3: Xid 79, the card fell off the bus`."""
    name, number = event.device.rpartition(":")[2], event.number
    if event.what == "xid":
        means = _XIDS.get(number, Text("the driver reports an error", "驱动报告错误"))
        told = Text(f"Xid {number}, {means.en}", f"Xid {number}，{means.zh}")
    elif event.what == "ecc":
        told = Text(
            f"{number} memory error(s) that ECC could not correct",
            f"{number} 个 ECC 无法纠正的显存错误",
        )
    elif event.what == "slowed":
        reasons = [text for bit, text in _SLOWED.items() if number & bit]
        told = Text(
            f"slowed down: {', '.join(text.en for text in reasons)}",
            f"已降频：{'、'.join(text.zh for text in reasons)}",
        )
    else:
        told = Text("lost, it no longer answers the driver", "已丢失，不再响应驱动")
    return Text(f"card {name}: {told.en}", f"卡 {name}：{told.zh}")


_XIDS = {
    13: Text("an exception in a kernel of the program", "程序的核函数出现异常"),
    31: Text("a kernel of the program used a wrong address", "程序的核函数访问了错误的地址"),
    43: Text("a kernel of the program was stopped", "程序的核函数被终止"),
    45: Text("its work was cleaned up after the program", "程序结束后其任务被清理"),
    48: Text("a memory error of two bits", "双比特显存错误"),
    62: Text("its internal controller stopped", "内部控制器停止"),
    63: Text("a row of its memory was retired", "显存的一行已停用"),
    64: Text("a row of its memory could not be retired", "显存的一行无法停用"),
    74: Text("an error of NVLink", "NVLink 错误"),
    79: Text("the card fell off the bus", "显卡从总线上掉线"),
    94: Text("a memory error, contained", "显存错误（已隔离）"),
    95: Text("a memory error, not contained", "显存错误（未能隔离）"),
    119: Text("its firmware (GSP) does not answer", "固件（GSP）不再应答"),
}
"""The frequent ones, as NVIDIA's catalogue has them."""
_SLOWED = {
    0x08: Text("by its hardware", "硬件降频"),
    0x20: Text("too hot", "温度过高"),
    0x40: Text("far too hot", "温度严重过高"),
    0x80: Text("its power supply", "供电不足"),
}
"""Bits of NVML's reasons; those that a healthy card has as well are left out."""
SLOWED_BITS = sum(_SLOWED)


def _filled(cards: Sequence[CardHistory]) -> Iterator[_Happened]:
    """The first time that a card's memory was as good as full."""
    for card in cards:
        full = ((when, used) for when, _, used in card.samples if used >= FULL * card.total_mb > 0)
        for when, used in full:
            amount = f"{used / 1024:.1f} / {card.total_mb / 1024:.1f} GB"
            en, zh = f"memory full ({amount})", f"显存已满（{amount}）"
            yield card, when, Text(f"{_name(card, 'card')}: {en}", f"{_name(card, '卡')}：{zh}")
            break


def _gone(cards: Sequence[CardHistory]) -> Iterator[_Happened]:
    """A card that is lost, or not listed any more, while others are."""
    looks = {when for card in cards for when, _, _ in card.samples}
    for card in cards:
        last = card.samples[-1][0]
        if sum(when > last for when in looks) >= GONE_LOOKS:
            en, zh = _name(card, "card"), _name(card, "卡")
            text = Text(f"{en} no longer answers nvidia-smi", f"{zh} 不再响应 nvidia-smi")
            yield card, last, text


def _idle(cards: Sequence[CardHistory]) -> Iterator[_Happened]:
    """One card that did nothing to the end while all others were busy, as those that wait are."""
    last = {card.device: [busy for _, busy, _ in card.samples[-IDLE_LOOKS:]] for card in cards}
    known = all(len(looks) == IDLE_LOOKS for looks in last.values())
    idle = [card for card in cards if max(last[card.device]) <= IDLE]
    busy = [card for card in cards if min(last[card.device]) >= BUSY]
    if not known or len(idle) != 1 or len(busy) < 2 or len(busy) + 1 != len(cards):
        return
    (card,) = idle
    since = card.samples[-1][0]
    for when, share, _ in reversed(card.samples):
        if share > IDLE:
            break
        since = when
    text = Text(
        f"{_name(card, 'card')} did nothing from here on, while all others were busy",
        f"{_name(card, '卡')} 从此空闲，而其他卡都在忙",
    )
    yield card, since, text


def _name(card: CardHistory, word: str) -> str:
    return f"{word} {card.device.rpartition(':')[2]}"
