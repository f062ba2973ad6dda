"""Experiments beside each other, in their own words: as they are deployed, in a release, in a file."""
