"""Formats of files, one module each: how a file is divided into pieces, and the messages of a piece."""
