"""What a screen or a report says: sentences, numbers, tables and the figures that go with them."""
