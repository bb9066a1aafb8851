"""Systems that ask a server share its client from topic to topic."""

from grading.generation import models
from grading.generation.models import text_model
from grading.graders.connection import Connection


def test_topics_share_the_client_of_a_server(monkeypatch):
    made = []
    models._client.cache_clear()
    monkeypatch.setattr(models, "ChatClient", lambda *told: made.append(told))
    for url in ("http://one/v1", "http://one/v1", "http://other/v1"):
        text_model("openai_compatible", "m", Connection(url), longest_reply=16)
    text_model("openai_compatible", "m", Connection("http://one/v1"), longest_reply=32)
    assert len(made) == 3
    models._client.cache_clear()
