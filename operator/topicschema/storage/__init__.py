"""Where histories, payloads and claims are kept. What they mean is `core`'s matter, their JSON is `api.record`'s."""
