"""The engine of runs: steps that resume, trainings, results and their pages."""
