"""The model server comes from the environment alone, and its key is never shown."""

from rubricweb.core.servers import model_server


def test_without_an_address_there_is_none(settings):
    settings.OPENAI_BASE_URL = ""
    assert model_server() is None


def test_its_key_is_not_in_what_is_printed(settings):
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "http://127.0.0.1:8001/v1", "very-secret"
    connection = model_server()
    assert connection is not None
    assert (connection.host, connection.key.value) == ("127.0.0.1:8001", "very-secret")
    assert "very-secret" not in f"{connection!r} {connection.api_key} {connection.api_key!r}"
