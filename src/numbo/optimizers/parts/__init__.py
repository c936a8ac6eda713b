"""What single algorithms are made of and no other part needs."""
