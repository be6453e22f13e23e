"""TreLM: migrating a pretrained encoder to another language."""
