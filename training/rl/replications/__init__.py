"""Small replications of the papers' claims. Each file has the claims of one paper with predictions from
before the first run; `results/` has the measurements, one file per claim."""
