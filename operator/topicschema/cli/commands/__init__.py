"""The commands, a module each; `arguments` names the module that a command runs."""
