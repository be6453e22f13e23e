"""Studies: many trainings and evaluations, one result. The top of the house."""
