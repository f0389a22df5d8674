"""Who visits a team's server, and what that person may do; on one's own machine nobody is asked."""
