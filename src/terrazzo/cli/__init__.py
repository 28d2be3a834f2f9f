"""The `terrazzo` command: thin shells around the packages that do the work. Each file is one command."""
