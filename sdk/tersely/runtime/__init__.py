"""Access to the machine and the network: ONNX sessions, threads, model folders, downloads and servers."""
