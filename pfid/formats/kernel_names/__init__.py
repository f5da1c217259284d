"""What a kernel's name tells: family, generation, tier, data type."""
