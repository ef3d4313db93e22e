"""How often a verdict is wrong: our rule, the literal one and the peers' on devices whose truth is known."""
