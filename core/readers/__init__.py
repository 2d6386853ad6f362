"""Reads files of users in a sealed process."""
