"""Relations between mentions and arguments of events, learnt on dependency trees of one language
and predicted in others: the transfer note, section 3, "structure transfer"."""
