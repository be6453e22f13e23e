"""From raw text to a data folder; no torch model here."""
