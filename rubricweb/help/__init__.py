"""The help, served at /help/: the Markdown files of docs/, and which page explains which screen."""
