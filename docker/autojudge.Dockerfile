# The judge for TREC AutoJudge on the track's base image: docker build -f docker/autojudge.Dockerfile -t rubricweb-autojudge .
# The workflow is /auto-judge/judges/rubricweb/workflow.yml.
FROM ghcr.io/trec-auto-judge/trec-auto-judge-base

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 NLTK_DATA=/usr/share/nltk_data

WORKDIR /srv/rubricweb
COPY LICENSE LICENSE
COPY grading grading
COPY rubricweb/__init__.py rubricweb/__init__.py
COPY rubricweb/autojudge rubricweb/autojudge
COPY packaging packaging
COPY requirements/dev.txt requirements/dev.txt
# The versions that the tests run with, where the base image has none of its own.
RUN /venv/bin/pip install --constraint requirements/dev.txt ./packaging/autojudge \
    && /venv/bin/python -m nltk.downloader -d "$NLTK_DATA" punkt stopwords \
    && mkdir -p /auto-judge/judges/rubricweb \
    && cp "$(/venv/bin/python -c 'import rubricweb_autojudge as a; print(a.__path__[0])')/workflow.yml" /auto-judge/judges/rubricweb/

# Without this a mistake of the image would show at the track only. It asks no model.
RUN /venv/bin/python -c "import rubricweb_autojudge.judge"
