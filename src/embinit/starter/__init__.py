"""The files that ``embinit new`` starts a project with."""
