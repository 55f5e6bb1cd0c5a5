"""The Python interface beyond `api`: the verbs of the command line as functions."""
