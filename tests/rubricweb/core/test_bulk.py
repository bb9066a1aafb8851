"""Many rows at once: the same keys, values and errors by COPY and by INSERT."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from rubricweb.core import database
from rubricweb.corpus.models import Passage, Ranking, Run
from tests.factories import PassageFactory, TopicFactory

TEXT = 'Anthocyanins,\t100 %:\r\n«rouge» \\N {red} \\ "quoted" \'\N{MAPLE LEAF}\n\\.'


def passages(collection, *doc_ids: str, text: str = TEXT) -> list[Passage]:
    return [Passage(collection=collection, doc_id=doc_id, text=text) for doc_id in doc_ids]


def test_objects_get_the_keys_of_their_rows(collection):
    made = database.create(passages(collection, "d2", "d1"))
    assert [Passage.objects.get(pk=one.pk).doc_id for one in made] == ["d2", "d1"]
    assert PassageFactory(collection=collection).pk not in {one.pk for one in made}
    made[0].title = "Leaves"
    made[0].save()
    assert Passage.objects.get(doc_id="d2").title == "Leaves"


@pytest.mark.parametrize("text", [TEXT, "", r"\N", "NULL"])
def test_texts_arrive_as_they_are(collection, text):
    database.create(passages(collection, "d1", text=text))
    assert Passage.objects.get().text == text


def test_lists_and_numbers_arrive(collection):
    topic, run = TopicFactory(collection=collection), Run.objects.create(collection=collection, run_tag="r")
    database.create([Ranking(run=run, topic=topic, doc_ids=["d\t1", "d2"], scores=[0.1, -2.5])])
    ranking = Ranking.objects.get()
    assert (ranking.doc_ids, ranking.scores) == (["d\t1", "d2"], [0.1, -2.5])


def test_a_conflict_is_an_error_and_nothing_is_written(collection):
    PassageFactory(collection=collection, doc_id="d1")
    with pytest.raises(IntegrityError), transaction.atomic():
        database.create(passages(collection, "d0", "d1"))
    assert list(Passage.objects.values_list("doc_id", flat=True)) == ["d1"]


def test_nothing_makes_nothing(db):
    assert database.create([]) == []
