"""The whole cluster in one process under virtual time, with faults, and the promises as checkers."""
