"""What condensing the results of a search is worth to the model that reads them."""
