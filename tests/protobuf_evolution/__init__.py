"""Random protobuf files, changes to them by people (`steps`), and the readings of messages (`readings`)."""
