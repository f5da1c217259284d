"""Python source read without running it: names, imports, classes and their order of lookup."""
