from django.conf import settings

collect_ignore = [] if settings.SSO.is_on else ["on"]
