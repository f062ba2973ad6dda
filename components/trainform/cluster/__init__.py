"""Live reads of the cluster; nothing here changes anything."""
