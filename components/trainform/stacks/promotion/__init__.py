"""Promotions and rollbacks before anything is written: the release, what it changes, and which gates hold."""
