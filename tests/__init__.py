"""A package, because a folder of this name that is none would be hidden by one in `site-packages`."""
