"""Texts that were compressed before anybody asked."""
