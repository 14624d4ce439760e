"""What commands read: files, schemas, .proto sources, manifests, payloads."""
