"""What verbs do, where it is more than their options."""
