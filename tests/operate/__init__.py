"""What an operator of a server must be able to rely on: nothing is lost, nothing is mixed up."""
