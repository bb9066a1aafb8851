"""The campaigns of the queue's tests."""

from tests.rubricweb.campaigns.queue.conftest import bank, campaign_of, second

__all__ = ["bank", "campaign_of", "second"]
