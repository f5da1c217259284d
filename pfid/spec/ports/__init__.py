"""What a check may read, one port a file. Reading never judges, and a port never guesses."""
