"""The forms that files have, a module each: how a file is cut into pieces, and a piece's messages."""
