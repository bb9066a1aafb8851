# The judge for TREC AutoJudge on the track's base image: docker build -f docker/autojudge.Dockerfile -t rubricweb-autojudge .
# The workflow is /auto-judge/judges/rubricweb/workflow.yml.
FROM ghcr.io/trec-auto-judge/trec-auto-judge-base

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 NLTK_DATA=/usr/share/nltk_data

WORKDIR /srv/rubricweb
COPY pyproject.toml README.md Procfile ./
COPY grading grading
COPY rubricweb rubricweb
COPY templates templates
COPY static static
COPY docs docs
COPY fixtures/demo fixtures/demo
COPY requirements/dev.txt requirements/dev.txt
# The versions that the tests run with, where the base image has none of its own.
RUN /venv/bin/pip install --constraint requirements/dev.txt '.[autojudge]' \
    && /venv/bin/python -m nltk.downloader -d "$NLTK_DATA" punkt stopwords \
    && mkdir -p /auto-judge/judges/rubricweb \
    && cp rubricweb/autojudge/workflow.yml /auto-judge/judges/rubricweb/workflow.yml

# Without this a mistake of the image would show at the track only. It asks no model.
RUN /venv/bin/python -c "import rubricweb.autojudge.judge"
