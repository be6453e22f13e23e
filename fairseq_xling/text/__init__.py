"""From raw text to a data folder."""
