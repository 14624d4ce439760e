"""What validate-messages reads and prints: arguments, request, output."""
