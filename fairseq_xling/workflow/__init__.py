"""The engine of runs: steps that resume, and the commands of trainings."""
