"""Pages of finished runs, redrawn from their JSON, and the index of the specification's rows."""
