"""Every screen of a bank; each view stands beside the forms and selectors that it uses."""
