"""The encoder, its sharing plan, its heads and presets."""
