"""Containers, images and networks of a Docker daemon."""
