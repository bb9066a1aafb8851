"""What to call a person where names are not to be seen."""

from __future__ import annotations

from django.utils.crypto import salted_hmac

from rubricweb.corpus.models import Collection


def pseudonym(collection: Collection, person_id: int) -> str:
    """The same person has the same one in all of a collection's pages and files, and another elsewhere.

    It cannot be turned back without the collection's salt, which only the database has.
    """
    digest = salted_hmac("rubricweb.pseudonym", str(person_id), secret=collection.name_salt).hexdigest()
    return f"assessor-{digest[:6]}"
