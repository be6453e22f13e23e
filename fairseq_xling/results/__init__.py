"""What a run found: values recorded once, and the tables, figures and pages made of them."""
