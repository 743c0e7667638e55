"""Compressed files, tar and zip: unpacked in bounded pieces, nothing is ever written."""
