from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("review", "0007_draws_of_campaigns")]

    operations = [migrations.RemoveField(model_name="campaign", name="is_representative")]
