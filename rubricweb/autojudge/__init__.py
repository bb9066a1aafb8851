"""A judge of TREC AutoJudge: the rubric method behind the track's own runner (docs/help/commands.md).

An extra, `rubricweb[autojudge]`, and no part of the web process. `judge.py` and `banks.py` import the track's
package; the other files do without. Nothing here imports Django.
"""
