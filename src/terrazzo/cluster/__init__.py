"""What an app of the cluster is: its driver's view, its links, its requests, and the locator."""
