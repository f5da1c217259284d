"""Step reports out of training frameworks, one file each. None imports its framework by itself."""
