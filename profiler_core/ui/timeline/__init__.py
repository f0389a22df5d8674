"""The timeline: a canvas fed by a route, and what Python shows around it."""
