"""Random protobuf files, how people change them (`steps`), and what readers make of messages (`readings`)."""
