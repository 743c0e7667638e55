"""The pipeline from paths to a report, and what is built on it: baseline, bundle, authoring."""
