"""The webhook process: an HTTPS server that answers AdmissionReviews as `admission` decides."""
