"""The Gamma page: a history of bins and gammas, and the rule behind it."""
