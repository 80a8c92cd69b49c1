"""The embedding server as something to send requests to; how they are sent is in `kb.remote`."""

from __future__ import annotations

from kb import remote
from kb.errors import EmbedderFailed

PURPOSE = remote.Purpose(
    server="embedding server",
    setting="embed.base_url",
    error=EmbedderFailed,
    address_fix="set embed.base_url to an address such as http://127.0.0.1:11434/v1",
    fixes={
        401: "check the key that the setting embed.api_key_env names",
        403: "check that the key may use this model",
        404: "check embed.base_url and the model's name",
        413: "lower embed.batch",
    },
)


def parse(url: str) -> remote.Server:
    return remote.parse(url, PURPOSE)
