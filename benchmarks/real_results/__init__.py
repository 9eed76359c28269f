"""Questions over real results of tools, which are made again from installed packages on every run."""
