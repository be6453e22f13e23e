"""CLCR: two pretrained encoders made one, by transforming, extracting and reordering."""
