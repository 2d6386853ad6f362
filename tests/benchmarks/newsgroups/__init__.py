"""Six losses on 20 Newsgroups beside the papers': trained, measured and written down."""
