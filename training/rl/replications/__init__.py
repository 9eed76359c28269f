"""Small replications of the papers' claims. Each file holds the claims of one paper, with the prediction that
stood before the first run; `results/` holds what the runs measured, one file a claim."""
