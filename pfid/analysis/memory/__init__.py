"""What training a model of given shapes holds in memory, item by item."""
