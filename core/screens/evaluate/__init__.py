"""The Evaluate page: weights, a quick look, and what an evaluation found."""
