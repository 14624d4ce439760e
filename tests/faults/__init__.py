"""Faults at the wire: a proxy between the controller and the real API server that can kill, cut, silence and refuse."""
