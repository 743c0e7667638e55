"""One module per verb of the command line; each parses, calls, renders, exits."""
