"""Studies: many trainings and evaluations, one result."""
