"""The HTTPS server of webhook and registry: a certificate that changes, and limits on connections and bodies."""
