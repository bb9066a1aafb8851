"""One look for all forms."""

from django.forms.renderers import TemplatesSetting


class ProjectRenderer(TemplatesSetting):
    """Fields render through the project's one field template."""

    field_template_name = "core/field.html"
