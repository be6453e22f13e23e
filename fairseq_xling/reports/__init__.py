"""Records of what was measured, and the tables, figures and pages that are made of any of them."""
