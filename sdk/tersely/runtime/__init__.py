"""What the package needs of the machine: ONNX sessions, model folders, SQLite files, the network switch."""
