"""The checks that ship with pfid: one file each, by stage."""
