"""The science of RubricWeb in pure Python: no Django, no Redis, no environment, no hidden clock."""
