"""One module per output format, each with a `reporter`; all are fed by the same `Report`."""
