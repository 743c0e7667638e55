"""Generations that nodes under Paddle's own launcher take part in.

Such nodes count heartbeats, each for itself, until the number is the largest allowed or has not
changed for the timeout; then each writes what it says of itself under the job's `info` prefix and
waits until as many have. So a world is complete when exactly those who have a heartbeat have
spoken: that is waited for here, and then written down as a generation for our own nodes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pdtriage.launch.elastic.generation import Generation, Keys, Member, Speech, View
from pdtriage.launch.elastic.generation_rules import Terms, following
from pdtriage.launch.options.flags import LaunchFlags
from pdtriage.launch.rendezvous.peers import rank_peers
from pdtriage.support.errors import UserError


def peer_key(keys: Keys, speech: Speech) -> str:
    return f"{keys.peers}{speech.get('name')}/{speech.get('rank')}"


def spoken(speech: Speech) -> str:
    return json.dumps(speech)


def mixed_generation(
    view: View,
    chosen: Sequence[Member],
    terms: Terms,
    keys: Keys,
    flags: LaunchFlags,
) -> Generation | None:
    """The world all nodes together agree on; None as long as they do not."""
    words = {key.removeprefix(keys.peers).partition("/")[0]: key for key in view.peers}
    expected = {member.pod for member in chosen} | view.foreign
    if words.keys() != expected or not terms.least <= len(expected) <= terms.most:
        return None
    before = view.generation.modified if view.generation is not None else 0
    if any(view.peers[words[pod]].modified <= before for pod in view.foreign):
        return None  # It spoke for an earlier world.
    found = {key: view.peers[key].value for key in words.values()}
    first = found[words[chosen[0].pod]]
    try:
        peers, _ = rank_peers(found, first, flags, len(expected))
    except UserError:
        return None  # A stranger speaks nonsense; it may correct itself.
    pods = tuple(str(peer["name"]) for peer in peers)
    if set(pods) != expected:
        return None
    return following(view, pods, tuple(peers), tuple(sorted(view.foreign)))
