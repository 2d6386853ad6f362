"""What several screens share: the pieces of a page, numbers, colours, marks, words."""
