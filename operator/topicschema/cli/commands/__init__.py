"""Commands, a module each. `arguments` names the module that a command runs."""
