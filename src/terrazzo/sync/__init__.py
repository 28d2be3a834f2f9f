"""How a change travels to those who may see it: the words between a server and its client, and a client's view."""
