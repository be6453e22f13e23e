"""The studies of TreLM: what its tables compare, a class each."""
