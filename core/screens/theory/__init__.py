"""The Theory page: what losses ask of probabilities."""
