"""What screens and reports say and draw: a room for each capability, and a kit that all share."""
