"""What only one paper has, from its model to its report: a folder each."""
