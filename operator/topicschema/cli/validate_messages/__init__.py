"""Parts of validate-messages: arguments, request, output."""
