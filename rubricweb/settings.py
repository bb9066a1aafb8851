"""The only settings file. Our settings have the prefix RUBRIC_ and are listed in `.env.example`."""

import os
from pathlib import Path
from typing import Any

from csp.constants import SELF
from django.core.exceptions import ImproperlyConfigured
from environs import Env, validate

from rubricweb.core import environment
from rubricweb.core.servers import default_redis_url

# Before torch is loaded: its threads would otherwise spin, ten times as slow beside another busy process.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


class Environment(Env):
    """An empty value (`RUBRIC_DATA_DIR=`) counts as not set, as compose files write it."""

    def _get_value(self, env_key: str, default: Any) -> Any:  # Any: as Env has it, `...` for no default
        return os.environ.get(env_key) or self._environ.get(env_key) or default


BASE_DIR = Path(__file__).resolve().parent.parent
_PACKED = Path(__file__).resolve().parent / "packed"
IS_INSTALLED = _PACKED.is_dir()
"""From a wheel, which carries templates, styles and the demo's files; a checkout has them at its top."""
FILES_DIR = _PACKED if IS_INSTALLED else BASE_DIR
COMMAND = "rubricweb" if IS_INSTALLED else "python -m rubricweb"
"""What people type before the name of a command."""

env, rubric = Environment(), Environment(prefix="RUBRIC_")
for each in (env, rubric):
    each.read_env(str((Path.cwd() if IS_INSTALLED else BASE_DIR) / ".env"), recurse=False)

IS_LOCAL = rubric.bool("DEBUG", True)
"""On one's own machine: a published key, cookies over http, styles and scripts from where they lie."""
DEBUG = IS_LOCAL and rubric.bool("DEBUG_PAGES", True)
DATA_DIR = rubric.path("DATA_DIR", Path.home() / ".rubricweb" if IS_INSTALLED else BASE_DIR / "var")
DATA_DIR.mkdir(parents=True, exist_ok=True)
SECRET_KEY = environment.secret(
    "RUBRIC_SECRET_KEY",
    rubric.str("SECRET_KEY", environment.PUBLISHED_KEY) if IS_LOCAL else rubric.str("SECRET_KEY"),
)
ALLOWED_HOSTS = rubric.list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"] if IS_LOCAL else [])
CSRF_TRUSTED_ORIGINS: list[str] = rubric.list("CSRF_TRUSTED_ORIGINS", [])
BEHIND_PROXY = rubric.bool("BEHIND_PROXY", False)
TRUSTED_PROXIES: list[str] = rubric.list("TRUSTED_PROXIES", [])
if objections := environment.objections(debug=IS_LOCAL, secret_key=SECRET_KEY, hosts=ALLOWED_HOSTS):
    raise ImproperlyConfigured(" ".join(objections))

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",
    "axes",
    "csp",
    "django_htmx",
    "rubricweb.api.apps.SpectacularConfig",
    "drf_spectacular_sidecar",
    "rest_framework",
    "template_partials",
    "rubricweb.core",
    "rubricweb.help",
    "rubricweb.jobs",
    "rubricweb.accounts",
    "rubricweb.corpus",
    "rubricweb.webhooks",
    "rubricweb.banks",
    "rubricweb.grades",
    "rubricweb.graders",
    "rubricweb.imports",
    "rubricweb.editor",
    "rubricweb.campaigns",
    "rubricweb.review",
    "rubricweb.submissions",
    "rubricweb.systems",
    "rubricweb.support",
    "rubricweb.home",
    "rubricweb.leaderboards",
    "rubricweb.arena",
    "rubricweb.exports",
    "rubricweb.releases",
    "rubricweb.archives",
    "rubricweb.api.apps.ApiConfig",
    "rubricweb.demo",
]

# What rooms give to rooms below them, by dotted path: imported on first use.
KINDS_OF_WORK = [
    "rubricweb.corpus.duplicates.DuplicateSearches",
    "rubricweb.corpus.topic_attributes.AttributeScores",
    "rubricweb.webhooks.actions.Deliveries",
    "rubricweb.banks.draft_jobs.Drafting",
    "rubricweb.banks.draft_jobs.CollectionDrafting",
    "rubricweb.grades.engine.kind.Grading",
    "rubricweb.graders.dry_runs.DryRuns",
    "rubricweb.imports.kind.ImportKind",
    "rubricweb.submissions.actions.SubmissionKind",
    "rubricweb.systems.actions.Systems",
    "rubricweb.support.kind.SupportLabels",
    "rubricweb.leaderboards.kind.BoardWatches",
    "rubricweb.arena.asking.FreshAnswers",
    "rubricweb.arena.judges.kind.PairVotes",
    "rubricweb.releases.actions.ReleaseKind",
    "rubricweb.archives.kind.Archives",
    "rubricweb.archives.kind.Deletions",
    "rubricweb.archives.kind.Restorations",
]
"""Classes of background work; their order is that of the rooms."""
JOB_LISTINGS = [
    "rubricweb.corpus.topic_attributes.LISTING",
    "rubricweb.banks.draft_jobs.LISTING",
    "rubricweb.banks.draft_jobs.JOBS",
    "rubricweb.imports.kind.LISTING",
    "rubricweb.systems.actions.LISTING",
    "rubricweb.support.kind.LISTING",
    "rubricweb.arena.asking.LISTING",
    "rubricweb.arena.judges.kind.LISTING",
    "rubricweb.releases.actions.LISTING",
    "rubricweb.archives.kind.LISTING",
]
"""How jobs stand in the list of a collection's jobs."""
WORKER_DUTIES = [
    "rubricweb.corpus.pools.keep_snapshots",
    "rubricweb.grades.matrices.keep_snapshots",
    "rubricweb.grades.engine.chunks.cancel_unwanted",
    "rubricweb.grades.replies.drop_due",
    "rubricweb.campaigns.progress.announce_done",
    "rubricweb.leaderboards.kind.look",
]
"""Functions that every worker calls every few seconds; any number of workers may call one at once."""
IMPORTERS = {
    "flags and comments": "rubricweb.review.flags.actions.FlagImporter",
    "answers with labels of support": "rubricweb.support.importing.AnswerImporter",
    "labels of support": "rubricweb.support.importing.LabelImporter",
    "votes on answers": "rubricweb.arena.files.VoteImporter",
    "battles": "rubricweb.arena.battle_files.BattleImporter",
}
"""Importers of events by the content of their files."""
KEPT_REPLIES = ["rubricweb.grades.replies.rated_cells", "rubricweb.review.flags.flagged_cells"]
"""Rules for cells whose replies are never dropped."""
ON_LEAVING = ["rubricweb.archives.actions.give_back"]
"""Functions that give back what a person held, called with the person and the collection, or None for all."""
MIDDLEWARE = [
    "rubricweb.core.middleware.Streaming",
    "rubricweb.jobs.probes.Probes",
    "rubricweb.core.telemetry.RequestMetrics",
    "rubricweb.core.telemetry.RequestSpans",
    "rubricweb.core.middleware.RequestReference",
    "rubricweb.core.middleware.RequestTime",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "rubricweb.core.middleware.Compression",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "rubricweb.core.middleware.ReaderMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "rubricweb.core.middleware.HtmxLoginRedirect",
    "rubricweb.core.middleware.MethodPage",
    "rubricweb.core.middleware.SignInFirst",
    "rubricweb.core.middleware.Toasts",
    "rubricweb.accounts.cold_storage.ColdPages",
    "rubricweb.api.idempotency.FormsOnce",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "rubricweb.urls"
ASGI_APPLICATION = "rubricweb.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["template_partials.templatetags.partials"],
            "libraries": {
                "core": "rubricweb.core.tags",
                "grades": "rubricweb.grades.tags",
                "help": "rubricweb.help.pages",
                "imports": "rubricweb.imports.queries",
                "keys": "rubricweb.accounts.keys",
                "leaderboards": "rubricweb.leaderboards.tags",
                "problems": "rubricweb.review.problems.rows",
                "review": "rubricweb.review.tags",
                "roles": "rubricweb.accounts.roles",
                "runs": "rubricweb.corpus.run_rows",
                "tabs": "rubricweb.home.tabs",
                "tokens": "rubricweb.api.tokens",
                "verify": "rubricweb.review.verify.tags",
            },
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
FORM_RENDERER = "rubricweb.core.forms.ProjectRenderer"

DATABASES = {"default": env.dj_db_url("DATABASE_URL", f"sqlite:///{DATA_DIR / 'rubricweb.sqlite3'}")}
environment.secret("the password in DATABASE_URL", DATABASES["default"].get("PASSWORD") or "")
DATABASE_POOL: dict[str, int] = {}
if "sqlite3" in DATABASES["default"]["ENGINE"]:
    # A web process and workers write side by side: see docs/architecture.md, "SQLite".
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 60,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
        " PRAGMA cache_size=-16000;",  # KB: a page's queries of grades read more than the usual 2,000
    }
else:
    # A network that is cut is noticed, and what a lost machine had locked is free again.
    idle = rubric.int("IDLE_TRANSACTION_SECONDS", 300)
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
        **({"options": f"-c idle_in_transaction_session_timeout={idle}s"} if idle else {}),
        **DATABASES["default"].get("OPTIONS", {}),
    }
    # Of each web process; a request waits so many seconds for a connection.
    DATABASE_POOL = {"min_size": 1, "max_size": rubric.int("DATABASE_CONNECTIONS", 16), "timeout": 30}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = environment.secret("REDIS_URL", env.str("REDIS_URL", default_redis_url(DATA_DIR)))
RQ_TIMEOUT_SECONDS = 3_600
LEASE_SECONDS = rubric.int("LEASE_SECONDS", 60)
WORKER_WAIT_SECONDS = rubric.int("WORKER_WAIT_SECONDS", 30)
CHUNK_CELLS = rubric.int("CHUNK_CELLS", 2048)
PRICES: dict[str, float] = dict(rubric.json("PRICES", {}))
REPLY_PRICES: dict[str, float] = dict(rubric.json("REPLY_PRICES", {}))
ARCHIVE_KEYS = [
    environment.secret("RUBRIC_ARCHIVE_KEYS", key, is_hexadecimal=True)
    for key in rubric.list("ARCHIVE_KEYS", list[str]())
]
WEBHOOK_ALLOW: list[str] = rubric.list("WEBHOOK_ALLOW", [])
OPENAI_BASE_URL = environment.secret("RUBRIC_OPENAI_BASE_URL", rubric.str("OPENAI_BASE_URL", ""))
OPENAI_API_KEY = environment.secret(
    "RUBRIC_OPENAI_API_KEY", rubric.str("OPENAI_API_KEY", ""), is_sent_in_header=True
)
BATCH_FOLDER = rubric.str("BATCH_FOLDER", "")

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_HANDLER = "rubricweb.accounts.passwords.LockoutHandler"
AXES_CLIENT_IP_CALLABLE = "rubricweb.accounts.passwords.client_address"
AXES_LOCKOUT_CALLABLE = "rubricweb.accounts.passwords.page"
ADDRESS_FAILURE_LIMIT = 50  # of all accounts together, within the cool-off time
PASSWORD_RESET_TIMEOUT = 86_400  # seconds; a link sets a password within a day, once
EMAIL_HOST = rubric.str("EMAIL_HOST", "")
EMAIL_PORT = rubric.int("EMAIL_PORT", 587)
EMAIL_HOST_USER = rubric.str("EMAIL_USER", "")
EMAIL_HOST_PASSWORD = environment.secret("RUBRIC_EMAIL_PASSWORD", rubric.str("EMAIL_PASSWORD", ""))
EMAIL_USE_TLS = rubric.bool("EMAIL_TLS", True)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = rubric.str("EMAIL_FROM", "rubricweb@localhost")
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "home:home"
LOGOUT_REDIRECT_URL = "accounts:login"

SSO = environment.install_switches(rubric, globals())

DEFAULT_EXCEPTION_REPORTER_FILTER = "rubricweb.core.redaction.SettingsFilter"

LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = ["rubricweb.formats"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = rubric.path("STATIC_DIR", DATA_DIR / "static")
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
HELP_DIR = FILES_DIR / "docs"
STATICFILES_DIRS = [FILES_DIR / "static", ("help", HELP_DIR / "img")]
STATICFILES_FINDERS = [
    "rubricweb.core.static_files.BundleFinder",
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "rubricweb.core.static_files.LibraryFinder",
]
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = IS_LOCAL
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if IS_LOCAL
        else "rubricweb.core.static_files.HashedStorage"
    },
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "object-src": ["'none'"],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": ["'none'"],
    }
}
SECURE_REFERRER_POLICY = "same-origin"
SESSION_ENGINE = "rubricweb.core.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "rubricweb.core.errors.token_refused"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not IS_LOCAL
SECURE_HSTS_SECONDS = 0 if IS_LOCAL else 31_536_000
SECURE_SSL_REDIRECT = rubric.bool("SSL_REDIRECT", not IS_LOCAL)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
DATA_UPLOAD_MAX_NUMBER_FIELDS = 100_000  # a box for each run, topic or item; parsed in 0.2 s
DATA_UPLOAD_MAX_NUMBER_FILES = 1_000
UPLOAD_BYTES = rubric.int("UPLOAD_MB", 2_000) * 1_000_000
FILE_UPLOAD_HANDLERS = [
    "rubricweb.core.forms.LimitedUploads",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rubricweb.api.tokens.TokenAuthentication",
        "rubricweb.api.tokens.BrowserAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rubricweb.api.tokens.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rubricweb.api.requests.JsonBody"],
    "DEFAULT_SCHEMA_CLASS": "rubricweb.api.schema.ResourceSchema",
    "EXCEPTION_HANDLER": "rubricweb.api.requests.problem_response",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "RubricWeb",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1/(collections/\{slug\}/(?=.))?",
    "SERVE_PERMISSIONS": ["rubricweb.api.tokens.HasScope"],
    "ENUM_NAME_OVERRIDES": {
        "KindEnum": "rubricweb.banks.models.Item.Kind",
        "FlagKindEnum": "rubricweb.review.models.Flag.Kind",
        "OutcomeEnum": "rubricweb.grades.models.Grade.How",
        "SubmissionOutcomeEnum": "rubricweb.submissions.models.Submission.Outcome",
        "StateEnum": "rubricweb.grades.models.GradingJob.State",
        "TaskStateEnum": "rubricweb.releases.models.Release.State",
        "WebhookStateEnum": "rubricweb.webhooks.models.Endpoint.State",
        "WebhookEventEnum": "rubricweb.webhooks.models.EventType",
        "VerdictEnum": "rubricweb.arena.models.Vote.Verdict",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

METRICS_TOKEN = environment.secret(
    "RUBRIC_METRICS_TOKEN", rubric.str("METRICS_TOKEN", ""), is_sent_in_header=True
)
LOG_LEVEL = rubric.str("LOG_LEVEL", "INFO")
LOG_FORMAT = rubric.str("LOG_FORMAT", "plain", validate=validate.OneOf(["plain", "json"]))
LOGGING = environment.log_lines(LOG_LEVEL, LOG_FORMAT)
