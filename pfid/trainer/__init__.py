"""What a training process imports: standard library only, Python 3.9 syntax."""
