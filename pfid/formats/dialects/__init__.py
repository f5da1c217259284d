"""Dialects of step lines, one file each: ``TRIGGERS`` find candidates, ``read`` reads a line.

A trigger is a pattern over bytes that starts with a fixed byte (the dispatcher's key), stays
within a line and ends in a token of fixed length; it may find too much, never too little.
"""
