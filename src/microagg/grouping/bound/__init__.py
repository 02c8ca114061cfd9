"""How good any partition can be at best: lower bounds on the SSE, and what they find on the way."""
