"""The effect of condensed search results on the answers of the model that reads them."""
