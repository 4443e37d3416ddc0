"""The lab: text, tables, models and the training that the papers' findings are tried with."""
