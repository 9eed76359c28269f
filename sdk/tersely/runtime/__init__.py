"""Access to the machine: ONNX sessions, threads, model folders, SQLite files and the network switch."""
