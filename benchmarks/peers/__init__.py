"""tersely side by side with other compressors, each as its makers ship it, in an environment of its own."""
