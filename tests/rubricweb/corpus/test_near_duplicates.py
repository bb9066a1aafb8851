"""The search for near-duplicates: by command and by a worker."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from rubricweb.corpus import duplicates
from rubricweb.corpus.derived_models import DuplicateSearch, NearDuplicate
from rubricweb.corpus.duplicates import fellows, groups_by_doc_id, latest_search
from rubricweb.jobs.worker import work_on
from tests import factories

TEXT = "Maple leaves turn red in autumn because chlorophyll breaks down and anthocyanins remain"
OTHER = "Bread rises because yeast eats sugar and sets gas free which the gluten of kneaded dough holds back"


@pytest.fixture
def passages(collection):
    """Three of which two are near-duplicates, and one of another collection that equals them."""
    texts = {"d1": TEXT, "d2": OTHER, "d3": f"{TEXT}."}
    factories.PassageFactory(doc_id="d9", text=TEXT)
    return {
        doc_id: factories.PassageFactory(collection=collection, doc_id=doc_id, text=text)
        for doc_id, text in texts.items()
    }


def find(*arguments):
    out = StringIO()
    call_command("find_near_duplicates", "autumn", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_marks_and_merges_nothing(collection, passages):
    assert find() == "2 of 3 passages have near-duplicates, in 1 group.\n"
    assert groups_by_doc_id(collection) == {"d1": 1, "d3": 1}
    assert collection.passages.count() == 3
    everything = [passage.pk for passage in passages.values()]
    assert fellows(passages["d1"].pk, everything) == [passages["d3"].pk]
    assert fellows(passages["d1"].pk, [passages["d2"].pk]) == [], "not among these"
    assert fellows(passages["d2"].pk, everything) == []


def test_the_latest_search_counts(collection, passages):
    find()
    passages["d3"].delete()
    find("--threshold", "0.5")

    assert groups_by_doc_id(collection) == {}
    assert latest_search(collection).threshold == 0.5
    assert (DuplicateSearch.objects.count(), NearDuplicate.objects.count()) == (1, 0)


@pytest.mark.parametrize("threshold", ["0", "1.2", "nan"])
def test_a_threshold_that_means_nothing(collection, threshold):
    with pytest.raises(CommandError, match="expected above 0 and at most 1"):
        find("--threshold", threshold)


def test_a_worker_searches(collection, passages, owner):
    search = duplicates.start_search(collection, threshold=0.8, by=owner)
    assert latest_search(collection) is None
    assert duplicates.start_search(collection, threshold=0.9, by=owner) == search, "it waits already"

    work_on("near-duplicates", search.pk)
    search.refresh_from_db()
    assert (search.state, search.groups, search.passages) == ("done", 1, 3)
    assert groups_by_doc_id(collection) == {"d1": 1, "d3": 1}
    assert duplicates.start_search(collection, threshold=0.9, by=owner) != search
