"""tersely and other compressors, each as its makers ship it, in an environment of its own."""
